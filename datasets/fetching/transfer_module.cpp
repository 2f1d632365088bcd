// The module libtrainer-fetch.so: libcurl and its libraries would take longer to load than the program.
#include <archive.h>
#include <archive_entry.h>
#include <curl/curl.h>
#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <set>
#include <system_error>

#include "datasets/fetching/transfer.h"
#include "engine/core/error.h"
#include "engine/system/files.h"

namespace trainer {
namespace {

namespace fs = std::filesystem;

using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

[[noreturn]] void fail(const std::string& what) { throw Error(ExitCode::data, what); }

File open_file(const fs::path& path, const char* mode) {
  File file(std::fopen(path.c_str(), mode), std::fclose);
  if (!file)
    fail(fmt::format("{} cannot be opened: {}", path.string(), std::generic_category().message(errno)));
  return file;
}

/// What one transfer writes and reports.
struct Transfer {
  std::FILE* file;
  std::int64_t offset, bytes;
  const TransferProgress& progress;
  bool is_full = false;  ///< the disk, or the size that is expected
};

std::size_t write(char* data, std::size_t size, std::size_t count, void* transfer) {
  auto& to = *static_cast<Transfer*>(transfer);
  const std::size_t bytes = size * count;
  to.offset += static_cast<std::int64_t>(bytes);
  to.is_full = to.offset > to.bytes || std::fwrite(data, 1, bytes, to.file) != bytes;
  if (to.is_full) return 0;
  to.progress(to.offset);
  return bytes;
}

/// One request from the size of `partial` on. Empty, or why it failed.
std::string request(const std::string& url, std::int64_t bytes, const fs::path& partial,
                    const TransferProgress& progress, CURLcode& code) {
  const File file = open_file(partial, "ab");
  Transfer transfer{file.get(), static_cast<std::int64_t>(fs::file_size(partial)), bytes, progress};
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  std::array<char, CURL_ERROR_SIZE> reason{};
  const auto set = [&](CURLoption option, auto value) { curl_easy_setopt(curl.get(), option, value); };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_ERRORBUFFER, reason.data());
  set(CURLOPT_USERAGENT, "trainer");
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 1L);
  set(CURLOPT_MAXREDIRS, 5L);
  set(CURLOPT_FAILONERROR, 1L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT, 20L);
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, 30L);
  set(CURLOPT_RESUME_FROM_LARGE, static_cast<curl_off_t>(transfer.offset));
  set(CURLOPT_WRITEFUNCTION, &write);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&transfer));
  code = curl_easy_perform(curl.get());
  if (std::fflush(file.get()) != 0)
    return fmt::format("{} cannot be written: {}", partial.string(), std::generic_category().message(errno));
  if (code == CURLE_OK && transfer.offset == bytes) return "";
  if (transfer.offset > bytes) return fmt::format("it is longer than {} bytes", bytes);
  if (transfer.is_full) return fmt::format("{} cannot be written", partial.string());
  if (code == CURLE_OK) return fmt::format("it ends after {} of {} bytes", transfer.offset, bytes);
  return reason.front() != '\0' ? reason.data() : curl_easy_strerror(code);
}

void download(const std::string& url, std::int64_t bytes, const fs::path& partial,
              const TransferProgress& progress) {
  static const bool kIsReady = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  if (!kIsReady) fail("libcurl cannot start");
  CURLcode code{};
  std::string reason = request(url, bytes, partial, progress, code);
  if (code == CURLE_RANGE_ERROR || code == CURLE_BAD_DOWNLOAD_RESUME) {
    fs::resize_file(partial, 0);
    reason = request(url, bytes, partial, progress, code);
  }
  if (!reason.empty()) fail(reason);
}

std::string sha256(const fs::path& path) {
  const File file = open_file(path, "rb");
  const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  std::vector<char> block(1 << 16);
  EVP_DigestInit_ex(context.get(), EVP_sha256(), nullptr);
  while (const std::size_t count = std::fread(block.data(), 1, block.size(), file.get()))
    EVP_DigestUpdate(context.get(), block.data(), count);
  if (std::ferror(file.get()) != 0) fail(fmt::format("{} cannot be read", path.string()));
  EVP_DigestFinal_ex(context.get(), digest.data(), &size);
  std::string text;
  for (unsigned i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

void unpack(const fs::path& path, const std::vector<std::string>& members, const fs::path& folder) {
  const std::unique_ptr<archive, int (*)(archive*)> packed(archive_read_new(), archive_read_free);
  archive_read_support_filter_gzip(packed.get());
  archive_read_support_format_tar(packed.get());
  archive_read_support_format_zip(packed.get());
  const auto check = [&](auto result) {
    if (result < ARCHIVE_WARN)
      fail(fmt::format("{} cannot be unpacked: {}", path.string(), archive_error_string(packed.get())));
    return result;
  };
  constexpr std::size_t kBlock = 1 << 16;
  check(archive_read_open_filename(packed.get(), path.c_str(), kBlock));
  std::set<std::string> missing(members.begin(), members.end());
  archive_entry* entry = nullptr;
  std::vector<std::byte> block(kBlock);
  while (!missing.empty() && check(archive_read_next_header(packed.get(), &entry)) != ARCHIVE_EOF) {
    const char* const name = archive_entry_pathname(entry);
    const std::string member = name == nullptr ? "" : fs::path(name).filename().string();
    if (archive_entry_filetype(entry) != AE_IFREG || missing.erase(member) == 0) continue;
    OutputFile file(folder / member);
    while (const auto count = check(archive_read_data(packed.get(), block.data(), block.size())))
      file.write(std::span(block).first(static_cast<std::size_t>(count)));
    file.commit();
  }
  if (!missing.empty()) fail(fmt::format("{} has no {}", path.string(), *missing.begin()));
}

}  // namespace
}  // namespace trainer

const trainer::TransferFunctions* trainer_transfer_functions() {
  static constexpr trainer::TransferFunctions kFunctions{trainer::download, trainer::sha256, trainer::unpack};
  return &kFunctions;
}
