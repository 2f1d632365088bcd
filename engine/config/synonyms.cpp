#include "engine/config/synonyms.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/config/declared.h"
#include "engine/config/source.h"
#include "engine/core/lower_case.h"

namespace trainer {
namespace {

/// What other programs have and this one does not need.
struct Needless {
  std::string_view kind, words, remark;
};

const std::vector<Needless>& needless() {
  static const std::vector<Needless> table{
      {"layer", "input inputlayer data", "remove it: the data gives the input"},
      {"layer", "logsoftmax", "remove it: softmax_cross_entropy includes it"},
      {"layer", "conv3d maxpool3d convolution3d", "maps have two dimensions: `conv`"},
      {"layer", "identity linearactivation", "remove it"},
      {"layer", "depthwiseconv2d separableconv2d", "`conv` with `groups`"},
      {"layer", "instancenorm instancenorm2d", "`group_norm` with a group for each channel"},
      {"loss", "nllloss nll", "`softmax_cross_entropy`, and no log_softmax before it"},
      {"loss", "l1 mae meanabsoluteerror", "`huber` is similar: linear for large differences"},
      {"loss", "rmse", "`mse` has the same minimum"},
      {"optimizer", "momentum nesterov", "`sgd: {lr: 0.1, momentum: 0.9}`"},
      {"optimizer", "nadam adamax amsgrad", "`adam` is similar"},
      {"initializer", "zeros zero", "`constant: 0`"},
      {"initializer", "ones one", "`constant: 1`"},
      {"key", "trainable requiresgrad", "`frozen: true` stops the training of a layer"},
      {"key", "keepprob", "`rate` is the share that is dropped"},
      {"key",
       "inchannels infeatures inputshape inputsize inputdim inputchannels numinput numinputs nin inputunits",
       "remove it: the size of the input follows from the layer below"},
      {"key", "gpu gpus device devices cuda accelerator usegpu",
       "remove it: the program runs on processors; -n and --threads choose how many"},
      {"key", "numworkers workers prefetch pinmemory persistentworkers",
       "remove it: samples are read ahead by all threads"},
      {"choice", "tensorflow tf savedmodel tflite mxnet openvino coreml tensorrt",
       "its own tools read `onnx`; docs/export.md names some"},
      {"flag", "trace",
       "`trainer time CONFIG --trace FILE` records when each layer runs, as --profile does in a run"},
      {"flag", "tensorboard", "`trainer report RUN --tensorboard` writes event files of a run"},
      {"flag", "gpu gpus device devices cuda",
       "the program runs on processors; -n and --threads choose how many"},
      {"key", "callbacks",
       "remove it: `early_stopping`, `checkpoint`, `schedule` and `log` are keys of train"},
      {"key", "verbose verbosity", "remove it: --progress and -q choose what a run shows"},
      {"key", "activation activations", "a layer has its own: `dense: {units: 8, activation: relu}`"},
      {"key", "task problemtype", "remove it: `model.loss` and the data determine it"},
      {"value", "valid", "`pad: 0`, the default, is `valid`"},
      {"metric", "loss", "remove it: the loss is always reported"},
      {"transform", "alternatingflip", "`horizontal_flip: {alternate: true}`"},
      {"dataset", "imagenet", "`image_folder: {size: 224}` reads the class folders of its images"},
  };
  return table;
}

/// Letters and digits in lower case: "Conv2D" and "conv_2d" become "conv2d".
std::string normal_form(std::string_view word) {
  std::string normal;
  for (const char c : lower_case(word))
    if (c != '_' && c != '-' && c != ' ') normal += c;
  return normal;
}

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

/// Without what names of classes in other programs end with: "crossentropyloss", "adamoptimizer",
/// "denselayer".
std::string without_kind(std::string_view kind, const std::string& normal) {
  const std::string end = normal_form(kind);
  const bool ends = normal.size() > end.size() && normal.ends_with(end);
  return ends ? normal.substr(0, normal.size() - end.size()) : normal;
}

}  // namespace

const std::vector<Synonyms>& synonyms() {
  static const std::vector<Synonyms> table{
      {"command", "train", "fit learn run start training resume continue restart"},
      {"command", "eval", "evaluate test score validate evaluation"},
      {"command", "new", "init create template"},
      {"command", "predict", "infer inference classify prediction"},
      {"command", "generate", "sample complete"},
      {"command", "summary", "describe show model"},
      {"command", "time", "bench benchmark profile"},
      {"command", "fetch", "download dataset datasets"},
      {"command", "check", "lint verify"},
      {"command", "export", "convert save"},
      {"command", "compare", "diff runs"},
      {"command", "info", "version env environment"},
      {"choice", "convnet", "cnn conv convolutional"},
      {"choice", "lstm", "rnn gru recurrent"},
      {"choice", "gpt", "transformer text llm llama"},
      {"choice", "table", "csv tabular"},
      {"choice", "folder", "images imagefolder directory photos"},
      {"choice", "valid", "val validation dev"},
      {"choice", "safetensors", "pytorch torch pt pth"},
      {"choice", "hf", "huggingface transformers"},
      {"choice", "gguf", "llamacpp ggml"},
      {"choice", "log", "loguniform logspace"},
      {"choice", "uniform", "linear range linspace float"},
      {"choice", "int", "randint quniform integer"},
      {"flag", "--ranks", "np nproc nprocs processes numprocesses"},
      {"flag", "--threads", "numworkers jobs cpus cores numthreads"},
      {"flag", "--out", "output outputdir outdir savedir logdir"},
      {"flag", "--init", "weights pretrained loadweights initialweights"},
      {"flag", "--resume", "continue restore"},
      {"flag", "--set", "override opt"},
      {"flag", "--quiet", "silent"},
      {"flag", "--walltime", "timelimit maxtime"},
      {"flag", "--tokens", "length maxlength maxtokens maxnewtokens numtokens npredict"},
      {"layer", "dense", "linear fc fullyconnected innerproduct affine lazylinear gemm"},
      {"layer", "conv", "conv2d convolution convolution2d convolutional lazyconv2d"},
      {"layer", "conv1d", "convolution1d temporalconvolution"},
      {"layer", "conv_transpose",
       "deconv deconvolution convtranspose2d conv2dtranspose transposedconvolution upconv deconv2d"},
      {"layer", "batch_norm", "batchnorm1d batchnorm2d batchnormalization bn"},
      {"layer", "layer_norm", "layernormalization ln"},
      {"layer", "rms_norm", "rmsnormalization rmslayernorm t5layernorm llamarmsnorm"},
      {"layer", "multiply", "mul product swiglu geglu glu gate gated"},
      {"layer", "gelu_tanh", "gelunew gelupytorchtanh gelufast"},
      {"layer", "group_norm", "groupnormalization gn"},
      {"layer", "local_response_norm", "lrn localresponsenormalization"},
      {"layer", "max_pool", "maxpool2d maxpooling maxpooling2d pooling pool"},
      {"layer", "avg_pool", "avgpool2d averagepool averagepooling averagepooling2d meanpool"},
      {"layer", "global_avg_pool", "globalaveragepooling globalaveragepooling2d globalavgpool2d gap"},
      {"layer", "adaptive_avg_pool", "adaptiveavgpool2d"},
      {"layer", "attention", "multiheadattention selfattention mha multiheadselfattention"},
      {"layer", "rnn", "simplernn elman recurrent"},
      {"layer", "residual", "skip shortcut resblock"},
      {"layer", "concat", "concatenate cat merge"},
      {"layer", "upsample", "upsampling upsampling2d resize interpolate"},
      {"layer", "permute", "transpose"},
      {"layer", "reshape", "view unflatten"},
      {"layer", "silu", "swish"},
      {"layer", "hardswish", "hswish"},
      {"layer", "sigmoid", "logistic"},
      {"layer", "leaky_relu", "lrelu"},
      {"layer", "embedding", "embed lookuptable tokenembedding"},
      {"layer", "positions", "positionalencoding positionembedding positionalembedding"},
      {"loss", "softmax_cross_entropy",
       "crossentropy ce categoricalcrossentropy sparsecategoricalcrossentropy softmax softmaxwith xent "
       "multinomial logloss crossentropywithlogits"},
      {"loss", "sigmoid_cross_entropy",
       "bce binarycrossentropy bcewithlogits sigmoid binary logistic sigmoidcrossentropywithlogits"},
      {"loss", "mse", "l2 meansquarederror meansquared euclidean squarederror regression"},
      {"loss", "huber", "smoothl1"},
      {"loss", "cosine", "cosineembedding cosinesimilarity"},
      {"loss", "ctc", "connectionisttemporalclassification"},
      {"optimizer", "sgd", "gradientdescent stochasticgradientdescent momentumsgd"},
      {"optimizer", "rmsprop", "rms"},
      {"optimizer", "adam", "adamoptimiser"},
      {"optimizer", "adamw", "adamweightdecay decoupledadam"},
      {"schedule", "cosine", "cosineannealing cosineannealinglr cosinedecay cosineannealingwarmrestarts"},
      {"schedule", "step", "steplr multistep multisteplr piecewise piecewiseconstant"},
      {"schedule", "exponential", "exponentiallr exponentialdecay"},
      {"schedule", "plateau", "reducelronplateau reduceonplateau"},
      {"schedule", "one_cycle", "onecyclelr"},
      {"schedule", "polynomial", "poly linear lineardecay polynomialdecay polynomiallr linearlr"},
      {"schedule", "constant", "none fixed constantlr"},
      {"metric", "accuracy", "acc top1 categoricalaccuracy sparsecategoricalaccuracy binaryaccuracy"},
      {"metric", "top_k", "top5 topkaccuracy topkcategoricalaccuracy top5accuracy"},
      {"metric", "f1", "f1score fscore"},
      {"metric", "auc", "rocauc auroc roc"},
      {"metric", "r2", "r2score rsquared"},
      {"metric", "mae", "meanabsoluteerror l1"},
      {"metric", "perplexity", "ppl"},
      {"metric", "misclassified", "error errorrate errors misclassification"},
      {"metric", "confusion", "confusionmatrix"},
      {"metric", "log_loss", "crossentropy nll"},
      {"initializer", "glorot", "xavier glorotuniform xavieruniform"},
      {"initializer", "glorot_normal", "xaviernormal"},
      {"initializer", "he", "kaiming kaimingnormal henormal msra"},
      {"initializer", "he_uniform", "kaiminguniform"},
      {"initializer", "normal", "gaussian gauss randomnormal"},
      {"initializer", "uniform", "randomuniform"},
      {"initializer", "truncated_normal", "truncnormal"},
      {"initializer", "constant", "fill"},
      {"dataset", "image_folder", "folder images imagefolder directory imagedirectory imagedata"},
      {"dataset", "csv", "table tsv tabular"},
      {"dataset", "npy", "numpy array arrays"},
      {"dataset", "cifar10", "cifar"},
      {"dataset", "fashion_mnist", "fashion"},
      {"dataset", "kuzushiji_mnist", "kmnist"},
      {"dataset", "text", "textfile corpus txt"},
      {"dataset", "synthetic", "random fake fakedata dummy"},
      {"transform", "horizontal_flip", "hflip flip randomhorizontalflip randomflip mirror"},
      {"transform", "random_crop", "crop pad"},
      {"transform", "random_resized_crop", "randomresizecrop"},
      {"transform", "rotation", "rotate randomrotation"},
      {"transform", "color_jitter", "jitter colourjitter brightness contrast"},
      {"transform", "cutout", "randomerasing erasing"},
      {"transform", "affine", "randomaffine translate shear"},
      {"value", "none", "linear identity no off false null"},
      {"value", "balanced", "auto balance"},
      {"value", "never", "none no off false null disabled"},
      {"value", "silu", "swish"},
      {"value", "hardswish", "hswish"},
      {"tokenizer", "bytes", "byte raw"},
      {"tokenizer", "characters", "chars char character"},
      {"value", "numbers", "values regression float"},
      {"value", "labels", "classes classification class"},
      {"value", "comma", ","},
      {"value", "semicolon", ";"},
      {"value", "tab", "\\t"},
      {"value", "per_channel", "standard standardize standardise zscore true"},
      // Keys: of the first that the map has.
      {"value", "bf16", "bfloat16 bf16mixed fp16 float16 half mixed 16"},
      {"value", "float32", "fp32 f32 single full 32"},
      {"key", "precision", "amp fp16 bf16 mixedprecision dtype"},
      {"key", "units",
       "outfeatures outputs numoutput numoutputs nodes neurons hidden hiddensize hiddenunits dim "
       "size outputsize outchannels hiddendim embeddingdim nout"},
      {"key", "filters", "outchannels numfilters channels features numoutput maps outputs depth nfilters"},
      {"key", "kernel", "kernelsize filtersize ksize windowsize size kernelshape"},
      {"key", "size", "kernel kernelsize poolsize window windowsize ksize outputsize imagesize resize shape"},
      {"key", "stride", "strides step subsample"},
      {"key", "pad", "padding border"},
      {"key", "bias", "usebias biasterm hasbias"},
      {"key", "activation", "act nonlinearity activationfunction activationfn transform transferfunction"},
      {"key", "init",
       "initializer weightinit kernelinitializer initialization weightfiller initialisation winit"},
      {"key", "rate", "p prob probability dropoutrate drop droprate ratio"},
      {"key", "heads", "numheads nhead nheads"},
      {"key", "layers", "numlayers nlayers depth modules architecture net network"},
      {"key", "repeat", "times count copies"},
      {"key", "epsilon", "eps"},
      {"key", "groups", "numgroups"},
      {"key", "vocabulary", "vocab vocabsize numembeddings"},
      {"key", "frozen", "freeze"},
      {"key", "lora", "adapter adapters peft lowrank"},
      {"key", "lr", "learningrate baselr initiallr eta alpha stepsize initlr maxlr learnrate"},
      {"key", "betas", "beta beta1 beta2"},
      {"key", "smoothing", "rho alpha decayrate"},
      {"key", "weight_decay", "decay l2 wd regularization l2penalty l2reg weightpenalty"},
      {"key", "momentum", "mom mu"},
      {"key", "factor", "gamma decayrate"},
      {"key", "at", "milestones boundaries stepat"},
      {"key", "final", "etamin minlr endlr lrmin"},
      {"key", "power", "exponent"},
      {"key", "margin", "alpha"},
      {"key", "minutes", "time duration maxtime maxminutes hours seconds"},
      {"key", "time", "minutes duration maxtime maxminutes hours seconds timelimit"},
      {"key", "batch", "batchsize minibatch minibatchsize batchsizes bs batches trainbatchsize"},
      {"key", "epochs", "numepochs maxepochs nepochs nbepochs numtrainepochs"},
      {"key", "steps",
       "maxsteps iterations maxiter numsteps totalsteps iters numiterations maxiterations niter"},
      {"key", "optimizer", "optim solver optimiser algorithm updater trainer"},
      {"key", "schedule", "scheduler lrscheduler lrschedule lrpolicy learningrateschedule decayschedule"},
      {"key", "warmup", "warmupsteps warmupepochs warmupratio"},
      {"key", "metrics", "metric measures"},
      {"key", "seed", "randomseed randomstate manualseed rngseed"},
      {"key", "clip_norm",
       "gradclip gradientclip gradientclipping gradientclipval clip clipnorm maxgradnorm "
       "maxnorm gradclipnorm"},
      {"key", "clip_value", "clipgradvalue"},
      {"key", "accumulate",
       "gradientaccumulation gradientaccumulationsteps accumulategradbatches accumulation"},
      {"key", "early_stopping", "earlystop earlystopper patience"},
      {"key", "checkpoint",
       "save savefreq saveevery savesteps savefrequency savestrategy snapshots checkpointing"},
      {"key", "evaluate", "evalevery evalfreq validationfrequency evalsteps evaluation evalstrategy"},
      {"key", "log_every", "logsteps loggingsteps logfrequency printevery logfreq"},
      {"key", "exact", "deterministic reproducible"},
      {"key", "ema", "movingaverage polyak swa"},
      {"key", "loss", "criterion lossfn lossfunction objective cost costfunction"},
      {"key", "weights", "pretrained initialweights checkpointfile loadfrom"},
      {"key", "dataset", "set type source datasetname reader"},
      {"key", "path", "root dir folder directory datadir datapath dataroot"},
      {"key", "validation",
       "valid val validationsplit valsplit validationfraction validationshare testsplit"},
      {"key", "fraction", "subset share limit"},
      {"key", "normalize", "normalization normalise normalisation standardize standardise scale"},
      {"key", "augment", "augmentation augmentations transforms transform"},
      {"key", "shuffle", "shuffled"},
      {"key", "target", "label labelcolumn targetcolumn y labels class outputcolumn"},
      {"key", "ignore", "drop exclude skip dropcolumns"},
      {"key", "separator", "sep delimiter delim"},
      {"key", "header", "hasheader headerrow skiprows"},
      {"key", "file", "path filename name input"},
      {"key", "tokens", "tokenizer tokenisation tokenization level"},
      {"key", "sequence", "sequencelength seqlen contextlength blocksize length maxlength context seqlength"},
      {"key", "train", "training fit trainer optimization traindata trainfile trainingfile"},
      {"key", "test", "testdata testfile testing"},
      {"key", "model", "network net architecture"},
      {"key", "data", "datasets"},
  };
  return table;
}

Meaning meaning_of(std::string_view kind, std::string_view word, const std::vector<std::string>& names) {
  const std::string normal = normal_form(word), stem = without_kind(kind, normal);
  if (normal.empty()) return {};
  const std::string shown = in_quotes(word);
  for (const std::string& name : names)
    if (normal_form(name) == normal || normal_form(name) == stem)
      return {name, fmt::format("{} is written `{}` here", shown, name)};
  for (const Synonyms& one : synonyms())
    if (one.kind == kind && (has_word(one.words, normal) || has_word(one.words, stem)) &&
        std::ranges::find(names, one.name) != names.end())
      return {std::string(one.name), shown + " is called `" + std::string(one.name) + "` here"};
  for (const Needless& one : needless())
    if (one.kind == kind && has_word(one.words, normal)) return {"", std::string(one.remark)};
  const std::string near = nearest(word, names);
  if (near.empty()) return {};
  return {near, "did you mean `" + near + "`?", true};
}

std::string path_of_meant_key(std::string_view word, const std::vector<Setting>& root) {
  if (std::string path = path_of_key(word, root); !path.empty()) return path;
  const std::string normal = normal_form(word);
  for (const Synonyms& one : synonyms()) {
    if (one.kind != "key" || !(has_word(one.words, normal) || normal_form(one.name) == normal)) continue;
    if (std::string path = path_of_key(one.name, root); !path.empty()) return path;
  }
  return "";
}

}  // namespace trainer
