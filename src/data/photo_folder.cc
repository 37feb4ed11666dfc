#include "data/photo_folder.h"

#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/machine.h"
#include "base/mapped_file.h"
#include "base/stopwatch.h"
#include "base/units.h"
#include "data/photo_decoders.h"
#include "data/photo_list.h"
#include "data/photo_store.h"
#include "data/sha256.h"

namespace lwsvm {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kDecodeMemory = std::uint64_t{1} << 30;  // that all threads decode into
constexpr std::size_t kNamesListed = 10;

// Work on 0..count-1 by several threads, in no order; this thread tells how far it is and listens to Ctrl-C.
void for_all(std::size_t count, int threads, const std::string& what, Messages& messages,
             const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0, done = 0;
  std::atomic<bool> stop = false;
  std::exception_ptr problem;
  std::mutex mutex;
  std::condition_variable ended;
  int running = 0;
  const auto run = [&] {
    try {
      for (std::size_t i = next++; i < count && !stop; i = next++) {
        work(i);
        ++done;
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!problem) problem = std::current_exception();
      stop = true;
    }
    const std::lock_guard lock(mutex);
    --running;
    ended.notify_all();
  };
  std::vector<std::thread> workers;
  std::unique_lock lock(mutex);
  const int wanted = static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(threads), count));
  try {
    for (; running < wanted; ++running) workers.emplace_back(run);
  } catch (const std::system_error&) {  // the system grants no more
    if (workers.empty()) {
      lock.unlock();
      running = 1;
      run();
      lock.lock();
    }
  }
  while (!ended.wait_for(lock, std::chrono::milliseconds(100), [&] { return running == 0; })) {
    lock.unlock();
    if (interrupted()) stop = true;
    try {
      messages.progress(what, done, count);
      lock.lock();
    } catch (...) {  // of the caller's own callback
      lock.lock();
      if (!problem) problem = std::current_exception();
      stop = true;
    }
  }
  lock.unlock();
  for (std::thread& worker : workers) worker.join();
  messages.progress(what, count, count);
  if (problem) std::rethrow_exception(problem);
  stop_if_interrupted("reading photos");
}

PhotoIdentity short_hash(const std::string& text) {
  Sha256 hash;
  hash.update(text.data(), text.size());
  const std::string hex = hash.hex();
  PhotoIdentity identity{};
  for (std::size_t i = 0; i < identity.size(); ++i)
    identity[i] = static_cast<std::uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  return identity;
}

PhotoIdentity identity_of(const PhotoFile& file) {
  return short_hash(
      fmt::format("{}\n{}\n{}\n{}", file.path.string(), file.bytes, file.modified, file.problem));
}

std::string cache_name(const fs::path& source, const PhotoGeometry& geometry) {
  std::string text = fmt::format("{}\n{}\n{}", source.string(), geometry.channels, to_text(geometry));
  if (geometry.drawing > 0) text += fmt::format("\ndrawing {}", geometry.drawing);
  std::string name;
  for (const std::uint8_t byte : short_hash(text)) name += fmt::format("{:02x}", byte);
  return name;
}

bool claims_to_be_photo(const fs::path& path) {
  std::string end = path.extension().string();
  std::ranges::transform(end, end.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return end == ".jpg" || end == ".jpeg" || end == ".jpe" || end == ".png" || end == ".webp";
}

// What becomes of one file; the pixels of a photo go to `sample`.
PhotoRecord decoded(const PhotoFile& file, const PhotoGeometry& geometry, const DecodeLimits& limits,
                    std::uint8_t* sample) {
  PhotoRecord record;
  record.identity = identity_of(file);
  if (!file.regular) {  // a pipe would keep us waiting
    record.fate = PhotoFate::no_photo;
    record.remark = "not a regular file";
    return record;
  }
  try {
    if (!file.problem.empty()) fail(kPhotoPlace, "{}: {}", file.path.string(), file.problem);
    const std::vector<std::uint8_t> bytes = read_photo_file(file.path);
    if (photo_format(bytes) == PhotoFormat::other) {
      const std::string kind = other_format_name(bytes);
      const bool known_image =
          kind == "GIF" || kind == "BMP" || kind == "TIFF" || kind == "HEIC" || kind == "AVIF";
      if (known_image || !claims_to_be_photo(file.path)) {
        record.fate = PhotoFate::no_photo;
        record.remark = kind;
        return record;
      }
    }
    photo_sample(file.path.string(), bytes, geometry, sample, limits);
    const auto size = static_cast<std::size_t>(geometry.shape().size());
    record.checksum = static_cast<std::uint32_t>(crc32_z(0, sample, size));
  } catch (const Error& error) {
    record.fate = PhotoFate::damaged;
    record.remark = error.what();
  } catch (const std::bad_alloc&) {
    record.fate = PhotoFate::damaged;
    record.remark = fmt::format("[{}] {}: not enough memory to decode it", kPhotoPlace, file.path.string());
  }
  return record;
}

class PhotoLoader {
 public:
  PhotoLoader(const fs::path& source, const PhotoList& list, const PhotoGeometry& geometry,
              const LoadOptions& options)
      : source_(source),
        list_(list),
        geometry_(geometry),
        cache_(options.photos.cache, options.photos.cache_limit),
        messages_(*options.messages),
        threads_(options.threads > 0 ? options.threads : std::max(1, describe_machine().cores)),
        sample_(static_cast<std::size_t>(geometry.shape().size())) {}

  StoredPhotos load() {
    if (cache_.usable()) {
      target_ = cache_.path("photos", cache_name(source_, geometry_));
      old_ = open_photo_store(target_);
      if (old_ && old_->geometry != geometry_) old_.reset();
    }
    if (old_ && is_same_list() && all_intact()) {
      CacheFolder::touch(target_);
      return std::move(*old_);
    }
    return made_anew();
  }

 private:
  bool is_same_list() const {
    return std::ranges::equal(list_.files, old_->records, {}, identity_of, &PhotoRecord::identity);
  }

  bool all_intact() {
    std::vector<std::uint32_t> checksums;
    for (const PhotoRecord& record : old_->records)
      if (record.fate == PhotoFate::kept) checksums.push_back(record.checksum);
    std::atomic<bool> intact = true;
    for_all(checksums.size(), threads_, "checking the cache", messages_, [&](std::size_t i) {
      if (!is_intact(*old_, i, checksums[i])) intact = false;
    });
    return intact;
  }

  // Where the photos lie that an earlier file has of the same identity.
  struct Earlier {
    const PhotoRecord* record;
    std::size_t place;
  };
  std::map<PhotoIdentity, Earlier> earlier() const {
    std::map<PhotoIdentity, Earlier> found;
    std::size_t place = 0;
    if (old_)
      for (const PhotoRecord& record : old_->records) {
        found.emplace(record.identity, Earlier{&record, place});
        place += record.fate == PhotoFate::kept;
      }
    return found;
  }

  // Pixels of all files one after the other, those that are no photos left empty.
  std::vector<PhotoRecord> decode_all(std::uint8_t* pixels) {
    const Stopwatch clock;
    const auto known = earlier();
    MemoryBudget budget(kDecodeMemory);
    DecodeLimits limits;
    limits.budget = &budget;
    std::vector<PhotoRecord> records(list_.files.size());
    std::atomic<std::size_t> reused = 0;
    for_all(records.size(), threads_, "decoding photos", messages_, [&](std::size_t i) {
      std::uint8_t* sample = pixels + i * sample_;
      const auto before = known.find(identity_of(list_.files[i]));
      if (before != known.end() && before->second.record->fate == PhotoFate::kept &&
          is_intact(*old_, before->second.place, before->second.record->checksum)) {
        std::copy_n(old_->pixels.data() + before->second.place * sample_, sample_, sample);
        records[i] = *before->second.record;
        ++reused;
        return;
      }
      records[i] = decoded(list_.files[i], geometry_, limits, sample);
    });
    const std::int64_t kept = std::ranges::count(records, PhotoFate::kept, &PhotoRecord::fate);
    messages_.line(
        "decoded {} photos to {}{} in {}{}", format_count(kept - static_cast<std::int64_t>(reused.load())),
        to_string(geometry_.shape()),
        geometry_.drawing > 0 ? fmt::format(", random crop {},", geometry_.drawing) : "",
        format_duration(clock.seconds()),
        reused > 0
            ? fmt::format("; {} were in the cache", format_count(static_cast<std::int64_t>(reused.load())))
            : "");
    return records;
  }

  // Moves the photos kept together; returns how many.
  std::size_t close_gaps(const std::vector<PhotoRecord>& records, std::uint8_t* pixels) const {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (records[i].fate != PhotoFate::kept) continue;
      if (kept != i) std::copy_n(pixels + i * sample_, sample_, pixels + kept * sample_);
      ++kept;
    }
    return kept;
  }

  StoredPhotos made_anew() {
    const std::size_t front_room = max_photo_store_front(list_.files.size());
    const std::size_t size = front_room + list_.files.size() * sample_;
    std::unique_ptr<NewMappedFile> file;
    if (cache_.usable()) {
      if (cache_.make_room(target_, size)) {
        try {
          file = std::make_unique<NewMappedFile>(target_, size);
        } catch (const Error& error) {
          messages_.line("{}; the photos are kept in memory for this command", error.what());
        }
      } else {
        messages_.line(
            "the cache {} has no room for {} (--cache, --cache-limit); the photos are kept in memory for "
            "this command",
            cache_.folder().string(), format_bytes(static_cast<double>(size)));
      }
    }
    return file ? made_in_file(*file, front_room) : made_in_memory();
  }

  StoredPhotos made_in_memory() {
    auto pixels = std::make_shared<std::vector<std::uint8_t>>(list_.files.size() * sample_);
    StoredPhotos store{geometry_, decode_all(pixels->data()), {}, pixels};
    store.pixels = std::span(*pixels).first(close_gaps(store.records, pixels->data()) * sample_);
    return store;
  }

  // The pixels are decoded after the room that the largest front could take, and moved to where the true one
  // ends.
  StoredPhotos made_in_file(NewMappedFile& file, std::size_t front_room) {
    std::uint8_t* bytes = file.bytes().data();
    const std::vector<PhotoRecord> records = decode_all(bytes + front_room);
    const std::size_t kept = close_gaps(records, bytes + front_room);
    const std::string description = fmt::format(
        "{}: {} photos, {}, {}{}", source_.string(), format_count(static_cast<std::int64_t>(kept)),
        to_string(geometry_.shape()), to_text(geometry_),
        geometry_.drawing > 0 ? fmt::format(", random crop {}", geometry_.drawing) : "");
    const std::vector<std::uint8_t> front = photo_store_front(description, geometry_, records);
    LWSVM_CHECK(front.size() <= front_room);
    std::copy_n(bytes + front_room, kept * sample_, bytes + front.size());
    std::ranges::copy(front, bytes);
    file.commit(front.size() + kept * sample_);
    std::optional<StoredPhotos> store = open_photo_store(target_);
    if (!store)
      fail(kPhotoPlace, "{}: what was just written cannot be read; try --cache-limit 0", target_.string());
    return std::move(*store);
  }

  fs::path source_, target_;
  const PhotoList& list_;
  PhotoGeometry geometry_;
  CacheFolder cache_;
  Messages& messages_;
  int threads_;
  std::size_t sample_;
  std::optional<StoredPhotos> old_;
};

// "a.gif (GIF), README, ... and 7 others"
std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamesListed); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kNamesListed) text += fmt::format(" and {} others", names.size() - kNamesListed);
  return text;
}

// What was left out, a line each; throws Error where that may not be.
void tell_left_out(const PhotoList& list, const std::vector<PhotoRecord>& records, bool skip_bad,
                   Messages& messages) {
  std::vector<std::string> no_photos;
  std::vector<const PhotoRecord*> damaged;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const PhotoRecord& record = records[i];
    if (record.fate == PhotoFate::no_photo)
      no_photos.push_back(list.files[i].name + (record.remark.empty() ? "" : " (" + record.remark + ")"));
    if (record.fate == PhotoFate::damaged) damaged.push_back(&record);
  }
  for (const std::string& note : list.notes) messages.line("{}", note);
  if (!no_photos.empty()) messages.line("left out, being no JPEG, PNG or WebP: {}", some_of(no_photos));
  if (damaged.empty()) return;
  if (!skip_bad)
    throw Error(fmt::format(
        "{}{}; repair or remove {}, or leave {} out with --skip-bad", damaged[0]->remark,
        damaged.size() > 1 ? fmt::format(" (and {} more photos are damaged)", damaged.size() - 1) : "",
        damaged.size() > 1 ? "them" : "it", damaged.size() > 1 ? "them" : "it"));
  for (std::size_t i = 0; i < std::min(damaged.size(), kNamesListed); ++i)
    messages.line("left out: {}", damaged[i]->remark);
  if (damaged.size() > kNamesListed)
    messages.line("left out: {} other damaged photos", damaged.size() - kNamesListed);
}

// The network's classes, if all of the folder's are among them: label of the folder -> label of the network.
std::optional<std::vector<std::int32_t>> renumbered(const std::vector<std::string>& names,
                                                    const std::vector<std::string>& wanted) {
  std::vector<std::int32_t> numbers;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(wanted, name);
    if (found == wanted.end()) return {};
    numbers.push_back(static_cast<std::int32_t>(found - wanted.begin()));
  }
  return numbers;
}

void check_classes(const std::string& where, const PhotoList& list, const std::vector<std::size_t>& counts) {
  std::vector<std::string> empty;
  for (std::size_t c = 0; c < counts.size(); ++c)
    if (counts[c] == 0) empty.push_back(list.class_names[c]);
  if (!empty.empty())
    fail(kPhotoPlace, "{}: there is no photo to learn {} from: {}; add some, or remove the {}", where,
         empty.size() == 1 ? "this class" : "these classes", some_of(empty),
         empty.size() == 1 ? "class" : "classes");
}

// The training photos once more, each time another part of them.
std::vector<Samples> random_crops(const fs::path& source, PhotoList list, PhotoGeometry geometry,
                                  const std::vector<std::int32_t>& labels, const LoadOptions& options) {
  std::vector<Samples> crops;
  std::erase_if(list.files, [](const PhotoFile& file) { return file.part != PhotoPart::train; });
  for (int number = 1; number <= options.crops; ++number) {
    geometry.drawing = number;
    const StoredPhotos store = PhotoLoader(source, list, geometry, options).load();
    if (store.pixels.size() != labels.size() * static_cast<std::size_t>(geometry.shape().size()))
      fail(kPhotoPlace, "{}: photos changed while they were read; try again", source.string());
    crops.emplace_back(geometry.shape(), store.pixels, labels, store.holder);
  }
  return crops;
}

}  // namespace

DataSet load_photos(const fs::path& path, const LoadOptions& options) {
  const bool from_csv = !fs::is_directory(path);
  const PhotoGeometry geometry = photo_geometry(options.photos, options.network);
  const fs::path source = fs::canonical(path);
  PhotoList list = from_csv ? list_photo_csv(source) : list_photo_folder(source);
  const StoredPhotos store = PhotoLoader(source, list, geometry, options).load();
  tell_left_out(list, store.records, options.photos.skip_bad, *options.messages);

  const auto order = renumbered(list.class_names, options.class_names);
  if (!order && list.class_names.size() < 2)
    fail(kPhotoPlace, "{}: there is one class, {}; two or more are needed, a folder each", path.string(),
         list.class_names.front());
  std::vector<std::int32_t> labels[3];
  std::vector<std::size_t> learnt_from(list.class_names.size());
  for (std::size_t i = 0; i < list.files.size(); ++i) {
    if (store.records[i].fate != PhotoFate::kept) continue;
    const PhotoFile& file = list.files[i];
    const auto label = static_cast<std::size_t>(file.label);
    labels[static_cast<std::size_t>(file.part)].push_back(order ? (*order)[label] : file.label);
    learnt_from[label] += file.part == PhotoPart::train;
  }
  check_classes(path.string(), list, learnt_from);

  const auto sample = static_cast<std::size_t>(geometry.shape().size());
  Samples parts[3];
  std::size_t begin = 0;
  for (std::size_t part = 0; part < 3; ++part) {
    const std::size_t count = labels[part].size();
    if (count > 0)
      parts[part] = Samples(geometry.shape(), store.pixels.subspan(begin * sample, count * sample),
                            std::move(labels[part]), store.holder);
    begin += count;
  }
  const std::vector<std::string> names = order ? options.class_names : list.class_names;
  std::vector<Samples> crops = random_crops(source, std::move(list), geometry, parts[0].labels(), options);
  DataSet data = make_data_set(kPhotoPlace, source, geometry.shape(), std::move(parts[0]),
                               std::move(parts[2]), static_cast<int>(names.size()), std::move(parts[1]));
  data.class_names = names;
  data.train_crops = std::move(crops);
  data.photos = to_text(geometry);
  return data;
}

}  // namespace lwsvm
