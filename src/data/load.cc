// load_data: from a name or a path to the reader of the right format.

#include <new>
#include <system_error>

#include "base/error.h"
#include "data/cifar.h"
#include "data/dataset.h"
#include "data/idx.h"
#include "data/npz.h"
#include "data/photo_folder.h"
#include "data/photo_list.h"
#include "data/registry.h"
#include "data/synthetic.h"

namespace lwsvm {
namespace {

namespace fs = std::filesystem;

DataSet load_cifar(const fs::path& folder, CifarKind kind) {
  const KnownDataSet* known = find_known(kind == CifarKind::cifar100 ? "cifar100" : "cifar10");
  DataSet data = load_cifar_folder(folder, kind);
  data.class_names = known->class_names;  // the format has no other classes
  return data;
}

DataSet load_folder(const fs::path& folder, const LoadOptions& options) {
  // The authors' archives unpack to a folder of this name; the folder around it will do as well.
  for (const fs::path& candidate : {folder, folder / "cifar-10-batches-bin", folder / "cifar-100-binary"}) {
    if (!fs::is_directory(candidate)) continue;
    if (is_cifar_folder(candidate, CifarKind::cifar10)) return load_cifar(candidate, CifarKind::cifar10);
    if (is_cifar_folder(candidate, CifarKind::cifar100)) return load_cifar(candidate, CifarKind::cifar100);
  }
  if (is_idx_folder(folder)) return load_idx_folder(folder);
  if (is_photo_folder(folder)) return load_photos(folder, options);
  fail("data",
       "{}: not recognised; a folder must hold IDX files (train-images-idx3-ubyte...), CIFAR-10 batches "
       "(data_batch_1.bin...), CIFAR-100 (train.bin) or photos, a folder per class",
       folder.string());
}

DataSet load_path(const fs::path& path, const LoadOptions& options) {
  if (fs::is_directory(path)) return load_folder(path, options);
  if (path.extension() == ".csv") return load_photos(path, options);
  if (path.extension() == ".npz" || is_npz(path)) return load_npz(path);
  fail("data",
       "{}: not recognised; expected an .npz file, a .csv of photos, or a folder of IDX or CIFAR "
       "binary files or photos",
       path.string());
}

}  // namespace

DataSet load_data(const std::string& name_or_path, const fs::path& data_dir) {
  LoadOptions options;
  options.data_dir = data_dir;
  return load_data(name_or_path, options);
}

DataSet load_data(const std::string& name_or_path, const LoadOptions& options) {
  try {
    if (is_synthetic(name_or_path)) return make_synthetic(parse_synthetic(name_or_path));
    if (const KnownDataSet* known = find_known(name_or_path)) return load_known(*known, options.data_dir);
    if (!name_or_path.empty() && fs::exists(name_or_path)) return load_path(name_or_path, options);
    if (name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".npz") ||
        name_or_path.ends_with(".csv")) {
      fail("data", "{}: there is no such file or folder; check the path", name_or_path);
    }
    fail_unknown(name_or_path);
  } catch (const fs::filesystem_error& error) {
    fail("data", "{}: {}", name_or_path, error.code().message());
  } catch (const std::bad_alloc&) {
    fail("data", "{}: not enough memory to load it", name_or_path);
  }
}

}  // namespace lwsvm
