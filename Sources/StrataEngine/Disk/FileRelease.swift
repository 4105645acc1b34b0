import StrataSystem

/// Closes a file that the caller no longer needs.
///
/// This frees a file that has no name any more, such as the old data after a compaction. Freeing hundreds of megabytes at once keeps every
/// sync on the disk waiting, 30 ms and longer if the file system discards freed blocks. So a large file is freed little by little on a
/// thread of its own, if nothing else has it open or mapped.
func release(_ descriptor: Int32) {
  guard let (own, size) = closeLeavingAlone(descriptor) else { return }
  if (try? startThread { shrinkAndClose(own, from: size) }) == nil { close(own) }
}

/// Closes a descriptor. If its file is large, has no name, and is not open elsewhere, returns a new descriptor of it and its size.
///
/// A new open, because everything that shares the given one, a forked process or a mapping, counts as one open with it.
func closeLeavingAlone(_ descriptor: Int32) -> (descriptor: Int32, size: off_t)? {
  var found = stat()
  guard fstat(descriptor, &found) == 0, found.st_nlink == 0, found.st_mode & S_IFMT == S_IFREG,
    found.st_size > freedAtOnce, let own = openAnew(descriptor)
  else {
    close(descriptor)
    return nil
  }
  close(descriptor)
  guard isOpenNowhereElse(own) else {
    close(own)
    return nil
  }
  return (own, found.st_size)
}

/// A file, or a range of one, that is larger is worth freeing by itself.
let freedAtOnce: off_t = 1 << 20

private func shrinkAndClose(_ descriptor: Int32, from size: off_t) {
  for end in stride(from: size - freedAtOnce, through: freedAtOnce, by: -Int(freedAtOnce)) {
    guard ftruncate(descriptor, end) == 0 else { break }
    // Commits come in between.
    rest(nanoseconds: 2_000_000)
  }
  close(descriptor)
}
