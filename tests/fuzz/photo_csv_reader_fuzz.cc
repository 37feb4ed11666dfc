// Lists of photos: path,label[,split].
#include "base/error.h"
#include "data/photo_list.h"
#include "fuzz/reader_fuzz.h"

namespace lwsvm::fuzz {

void read(std::string_view bytes) {
  const PhotoList list = list_photo_csv(as_file(bytes));
  LWSVM_CHECK(!list.class_names.empty() && !list.files.empty());
  for (const PhotoFile& file : list.files)
    LWSVM_CHECK(file.label >= 0 && static_cast<std::size_t>(file.label) < list.class_names.size());
}

std::vector<std::string> seeds() {
  return {"path,label\na.jpg,x\nb.jpg,y\n", "a,1,train\r\nb,2,val\r\nc,10,test\r\n",
          "\"a \"\"b\"\"\",\"x,\ny\"\nc,d"};
}

}  // namespace lwsvm::fuzz
