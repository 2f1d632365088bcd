#include "cli/reports/html.h"

#include <fmt/format.h>

namespace trainer {
namespace {

constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--page:#fff;--text:#1c1e21;--faint:#6b7280;--line:#e3e5e8;--c0:#2563eb;--c1:#b45309;--c2:#047857;--c3:#c026d3;--c4:#dc2626;
--c5:#0e7490;--c6:#4d7c0f;--c7:#7c3aed}
@media(prefers-color-scheme:dark){:root{--page:#15171a;--text:#e4e6e9;--faint:#949ba6;--line:#2c3036;--c0:#6ea0ff;
--c1:#f5a942;--c2:#34d399;--c3:#e879f9;--c4:#f87171;--c5:#22d3ee;--c6:#a3e635;--c7:#a78bfa}}
body{margin:2rem auto;max-width:84rem;padding:0 1.5rem;background:var(--page);color:var(--text);
font:15px/1.5 system-ui,sans-serif}
h1{margin-bottom:0}h2{margin-top:2.5rem;font-size:1.15rem}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(32rem,100%),1fr));gap:1.5rem}
figure{margin:0}figcaption{color:var(--faint)}figcaption b{color:var(--text)}
svg{width:100%;font-size:12px}svg text{fill:var(--faint);white-space:pre}
.charts svg{overflow:visible}figcaption span,tspan{unicode-bidi:isolate}h1,p,figcaption{overflow-wrap:anywhere}
.at text{fill:var(--text);stroke:var(--page);stroke-width:4px;paint-order:stroke;font-weight:600}
tspan[class]{fill:var(--c)}.ring{fill:none;stroke:var(--text);stroke-width:1.5}
.grid{stroke:var(--line)}path{fill:none;stroke-width:1.7;stroke-linejoin:round}
path[class]{stroke:var(--c)}circle[class^=c]{fill:var(--c)}span[class]{color:var(--c)}
.c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}
.c4{--c:var(--c4)}.c5{--c:var(--c5)}.c6{--c:var(--c6)}.c7{--c:var(--c7)}
.mark line{stroke:var(--faint);stroke-dasharray:3 3}
.at rect{fill:transparent}.at line{stroke:var(--faint)}.at>:not(rect){visibility:hidden;pointer-events:none}
.at:hover>*{visibility:visible}
.plot svg{max-height:26rem}svg .title{fill:var(--text);font-weight:600}.axis{stroke:var(--faint)}
.trial{--c:var(--c0)}.trial:hover{stroke-width:4;opacity:1}
.best{--c:var(--c1);stroke-width:3}
.wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{max-width:min(22rem,50vw);overflow-wrap:break-word;padding:.15rem .7rem;text-align:right;border-bottom:1px solid var(--line)}th{color:var(--faint);font-weight:500}
td:first-child,th:first-child,.facts td,.facts th{text-align:left}.facts td{min-width:6rem}
pre{overflow-x:auto;padding:1rem;border:1px solid var(--line);border-radius:6px;font-size:13px}
summary{cursor:pointer;color:var(--faint)}
.samples{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(var(--card,10rem),100%),1fr));gap:.8rem}
.samples figure{padding:.7rem;border:1px solid var(--line);border-radius:6px;overflow-wrap:anywhere}
.samples img,.kernels img{image-rendering:pixelated;width:7rem}.texts{--card:22rem}
blockquote{margin:0 0 .4rem;white-space:pre-wrap;font:13px/1.4 ui-monospace,monospace}
.kernels{display:flex;flex-wrap:wrap;gap:4px;margin-bottom:1rem}.kernels img{width:2.6rem}
.bars div{display:flex;height:1.1rem;margin:.15rem 0}.bars span{width:3rem}.bars i{background:var(--c)}
@media(max-width:40rem){body{margin:1rem auto;padding:0 1rem}.charts svg{font-size:20px}.plot svg{font-size:14px}}
.spark{width:7rem;height:1.3rem}.spark path{fill:var(--c0)}mark{background:none;color:var(--c1);font-weight:600}
)";

}  // namespace

std::string html_text(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

std::string html_table(const std::vector<std::vector<std::string>>& rows) {
  std::string text = "<div class=\"wide\"><table>\n";
  for (std::size_t row = 0; row < rows.size(); ++row) {
    text += "<tr>";
    for (const std::string& cell : rows[row])
      text += fmt::format("<{0}>{1}</{0}>", row == 0 ? "th" : "td", html_text(cell));
    text += "</tr>\n";
  }
  return text + "</table></div>\n";
}

std::string html_folded(const std::string& summary, const std::string& inside) {
  return fmt::format("<details><summary>{}</summary>\n{}</details>\n", html_text(summary), inside);
}

std::string html_page(const std::string& title, const std::string& body, PageUse use) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n{}<title>{}</title>\n"
      "<style>{}</style></head>\n<body>\n{}</body></html>\n",
      use == PageUse::live ? "<meta http-equiv=\"refresh\" content=\"5\">\n" : "", html_text(title), kStyle,
      body);
}

}  // namespace trainer
