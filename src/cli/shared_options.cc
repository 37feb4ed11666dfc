// Options that several commands have in common.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>

#include "cli/commands.h"
#include "lwsvm/units.h"

namespace lwsvm::cli {

void add_common_options(CLI::App& command, Common& common) {
  command.add_option("--threads", common.threads, "threads to use (default: all cores)")
      ->check(CLI::Range(1, 4096));
  command.add_flag("-q,--quiet", common.quiet, "no chatter on standard error");
  command.add_flag("--json", common.json, "print the result as one JSON object on standard output");
  command.add_option("--data-dir", common.data_dir,
                     "folder with the data sets (default: the XDG cache folder)");
}

CLI::Validator whole_number() {
  return CLI::Validator(
      [](std::string& text) -> std::string {
        std::uint64_t value = 0;
        const auto [end, mistake] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (mistake == std::errc() && end == text.data() + text.size()) return {};
        return fmt::format("'{}' is no whole number from 0 to {}", text, UINT64_MAX);
      },
      "");
}

void add_output_name_option(CLI::App& command, std::string& name) {
  command.add_option("--output-name", name,
                     "which output of the file holds the scores, where it has several (default: the only one "
                     "of real numbers)");
}

std::vector<std::string> given_options(const CLI::App& command) {
  static const std::vector<std::string> kAnyTime{"--threads", "--quiet",  "--json",  "--data-dir",
                                                 "--resume",  "--anyway", "--cache", "--cache-limit"};
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    if (option->count() > 0 && std::ranges::find(kAnyTime, option->get_name()) == kAnyTime.end())
      names.push_back(option->get_name());
  return names;
}

std::uint64_t cache_limit_of(const Common& common) {
  return common.cache_limit.empty() ? PhotoSettings().cache_limit
                                    : parse_size(common.cache_limit, "cache-limit");
}

DataSource located(DataSource data, const Common& common) {
  data.data_dir = common.data_dir;
  data.photos.cache = common.cache;
  data.photos.cache_limit = cache_limit_of(common);
  return data;
}

std::function<void(const std::string&)> lines_on(Terminal& terminal) {
  return [&terminal](const std::string& text) {
    constexpr std::string_view kWarning = "warning: ";
    if (text.starts_with(kWarning))
      terminal.warn(std::string_view(text).substr(kWarning.size()));
    else
      terminal.line(std::string_view(text));
  };
}

OnWork bars_on(Terminal& terminal) {
  return [&terminal](const std::string& what, std::int64_t part, std::int64_t whole) {
    terminal.progress(what, static_cast<std::uint64_t>(part), static_cast<std::uint64_t>(whole));
  };
}

void add_task_options(CLI::App& command, DataSource& data, TaskSettings& task, Common& common) {
  command
      .add_option(
          "--data", data.name,
          "fashion-mnist, mnist, cifar10, cifar100, synthetic, or a path: a folder of IDX files, CIFAR "
          "batches or photos (ROOT/CLASS/*, or ROOT/{train,val,test}/CLASS/*), an .npz, or a .csv of "
          "path,label")
      ->capture_default_str();
  command.add_option(
      "--val", task.validation,
      "validation samples taken from the training set: a count or a fraction (default: 10000 for the "
      "MNISTs, 5000 for the CIFARs, otherwise a tenth)");
  command
      .add_option("--split-seed", task.split_seed,
                  "seed of that split (default: 0, or as the network was trained)")
      ->check(whole_number());
  command.add_option("--delta", data.margins,
                     "CSV file with the margin matrix, C x C, row = predicted, column = true");
  add_photo_options(command, data.photos, common);
}

void add_photo_options(CLI::App& command, PhotoSettings& photos, Common& common) {
  CLI::Option* resize =
      command
          .add_option("--resize", photos.short_side,
                      "of photos: the short side becomes so many pixels (default: 256/224 of the crop)")
          ->check(CLI::Range(1, 16384));
  command.add_option_function<std::string>(
      "--crop", [&photos](const std::string& text) { set_crop(photos, text); },
      "of photos: what is then cut out of the centre, N or HEIGHTxWIDTH (default: what the network takes, or "
      "224)");
  command
      .add_flag("--stretch", photos.stretch,
                "of photos: bring them to the size of the crop, whatever the ratio of their sides")
      ->excludes(resize);
  command.add_flag("--skip-bad", photos.skip_bad, "leave damaged photos out (default: they are an error)");
  add_cache_folder_option(command, common);
  command.add_option("--cache-limit", common.cache_limit,
                     "size of that folder, such as 20G, beyond which what was not used for longest goes; 0: "
                     "keep nothing (default: 20G)");
}

void add_cache_folder_option(CLI::App& command, Common& common) {
  command.add_option(
      "--cache", common.cache,
      "folder where decoded photos are kept for the next command (default: the XDG cache folder)");
}

void add_time_limit_option(CLI::App& command, TimeSpan& limit, const char* help) {
  command.add_option_function<std::string>(
      "--time-limit", [&limit](const std::string& text) { limit = text; }, help);
}

void add_run_options(CLI::App& command, RunFiles& files, RunOptions& run, const char* resume_help) {
  CLI::Option* folder = command.add_option("--run", files.run_folder, "folder for log.jsonl and checkpoints");
  command.add_option("--resume", run.resume, resume_help)->check(CLI::ExistingDirectory)->excludes(folder);
}

void add_loss_option(CLI::App& command, std::string& loss) {
  command.add_option("--loss", loss, "svm (multi-class hinge) or ce (softmax cross-entropy)")
      ->capture_default_str();
}

void add_augment_option(CLI::App& command, TaskSettings& task, const std::string& what_if_absent) {
  command.add_option(
      "--augment", task.augment,
      "transformed copies that join the training part as samples of their own: flip, shiftK (4 copies), of "
      "photos cropK (K random parts of each), or several, as in flip,crop4 " +
          what_if_absent);
}

namespace {

// Numbers separated by commas.
void add_numbers_option(CLI::App& command, const char* name, std::vector<double>& numbers, const char* help) {
  command.add_option_function<std::string>(
      name, [name, &numbers](const std::string& text) { numbers = parse_list(text, name); }, help);
}

}  // namespace

void add_normalize_options(CLI::App& command, PixelSettings& pixels) {
  command.add_option(
      "--normalize", pixels.name,
      "how pixels become the network's input: 0-255, 0-1 or -1..1 (black..white), or 0-1 and then the mean "
      "and deviation of a data set: mnist, fashion-mnist, imagenet, cifar; or give the numbers:");
  command.add_option("--scale", pixels.scale, "pixels are divided by this first (MNIST: 256)");
  add_numbers_option(command, "--mean", pixels.mean,
                     "then this is subtracted: one number or one per channel, 0.49,0.48,0.45");
  add_numbers_option(command, "--std", pixels.deviation,
                     "then divided by this: one number or one per channel");
}

void add_anyway_option(CLI::App& command, PixelSettings& pixels) {
  command.add_flag("--anyway", pixels.anyway,
                   "go on where a network of another program seems to guess, or where trying the known "
                   "normalisations does not tell which is its own");
}

void add_per_pixel_option(CLI::App& command, PixelSettings& pixels) {
  command.add_flag("--per-pixel", pixels.per_pixel,
                   "mean and deviation of each pixel over the training part");
}

}  // namespace lwsvm::cli
