import StrataEngine
import StrataSystem

/// Copies a file by letting both names share its blocks until one of them is changed (a reflink): at once, whatever its length, if the file
/// system can do this. It is never a hard link: a write to one is not seen in the other.
enum FileClone {
  /// Clones a file durably. Returns false if the file system cannot do this, or on any other failure: then the file must be copied. Nothing
  /// may lie at `target`, and nothing is left there on failure.
  static func make(of source: String, at target: String) -> Bool {
    #if canImport(Darwin)
      guard clonefile(source, target, 0) == 0 else { return false }
      let clone = systemOpen(target, O_RDONLY | O_CLOEXEC)
      let isDurable = clone >= 0 && makeDurable(clone) == 0
      if clone >= 0 { close(clone) }
      if !isDurable { unlink(target) }
      return isDurable
    #else
      let from = systemOpen(source, O_RDONLY | O_CLOEXEC)
      guard from >= 0 else { return false }
      defer { close(from) }
      let to = systemOpen(target, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC)
      guard to >= 0 else { return false }
      // FICLONE, which is a macro that Swift does not see: _IOW(0x94, 9, int).
      let isCloned = ioctl(to, 0x4004_9409, from) == 0 && makeDurable(to) == 0
      close(to)
      if !isCloned { unlink(target) }
      return isCloned
    #endif
  }
}
