#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Closes a file that the caller has no more use for.
///
/// A file that has no name any more is freed by it, as the old data is after a compaction; and freeing hundreds of megabytes at
/// once keeps every sync on the disk waiting, 30 ms and longer where the file system discards what it frees. So a large one is
/// freed little by little on a thread of its own, if nobody else has it open.
func release(_ descriptor: Int32) {
  guard let size = sizeOfUnnamed(descriptor), size > freedAtOnce, isOpenNowhereElse(descriptor),
    (try? startThread { shrinkAndClose(descriptor, from: size) }) != nil
  else {
    close(descriptor)
    return
  }
}

private let freedAtOnce: off_t = 1 << 20

private func sizeOfUnnamed(_ descriptor: Int32) -> off_t? {
  var found = stat()
  guard fstat(descriptor, &found) == 0, found.st_nlink == 0, found.st_mode & S_IFMT == S_IFREG else { return nil }
  return found.st_size
}

private func shrinkAndClose(_ descriptor: Int32, from size: off_t) {
  for end in stride(from: size - freedAtOnce, through: freedAtOnce, by: -Int(freedAtOnce)) {
    guard ftruncate(descriptor, end) == 0 else { break }
    // Commits come in between.
    rest(nanoseconds: 2_000_000)
  }
  close(descriptor)
}
