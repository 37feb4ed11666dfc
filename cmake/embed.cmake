# Writes a C++ source that holds files as strings: cmake -DOUTPUT=page_files.cc -DFILES=kName=path,... -P embed.cmake
#
#   namespace lwsvm { extern const std::string_view kName; const std::string_view kName = R"~(...)~"; }
string(REPLACE "," ";" entries "${FILES}")
set(text "#include <string_view>\nnamespace lwsvm {\n")
foreach(entry ${entries})
  string(REGEX MATCH "^([^=]+)=(.*)$" _ "${entry}")
  set(name "${CMAKE_MATCH_1}")
  file(READ "${CMAKE_MATCH_2}" content)
  string(APPEND text "extern const std::string_view ${name};\nconst std::string_view ${name} = R\"~(${content})~\";\n")
endforeach()
file(WRITE "${OUTPUT}" "${text}}  // namespace lwsvm\n")
