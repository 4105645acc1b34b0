// The check must be able to fail: each line that says so must be refused on all platforms, or on those that it names, and no other line.
import Darwin
import Foundation

func use() {
  // Of systems that came later.
  _ = [1, 2].span  // refused
  // Of no public interface.
  _ = ""._nfc  // refused
  // Of one platform, and of some.
  _ = ProcessInfo.processInfo.userName  // refused: iOS tvOS watchOS visionOS
  var attributes: posix_spawnattr_t?
  posix_spawnattr_init(&attributes)  // refused: tvOS watchOS
  // Of the C library of Linux.
  fdatasync(0)  // refused
}
