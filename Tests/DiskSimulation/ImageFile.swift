import StrataLocks
import StrataEngine

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// One open of a file in memory.
final class ImageFile: DiskFile {
  private let disk: ImageDisk
  let number: DiskImage.Number
  let open: UInt64
  let path: String
  let isWritable: Bool

  init(disk: ImageDisk, number: DiskImage.Number, open: UInt64, path: String, isWritable: Bool) {
    self.disk = disk
    self.number = number
    self.open = open
    self.path = path
    self.isWritable = isWritable
  }

  deinit { disk.close(self) }

  var status: FileStatus { disk.status(of: self) }

  func reopened() throws(DiskError) -> (any DiskFile)? { disk.reopened(self) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    disk.read(self, into: buffer, at: offset)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) {
    try write(UInt64(bytes.count), at: offset) { contents, range in
      contents.write(UnsafeRawBufferPointer(rebasing: bytes[..<Int(range.upperBound - range.lowerBound)]), at: offset)
    }
  }

  func zero(_ range: Range<UInt64>) throws(DiskError) {
    try write(range.upperBound - range.lowerBound, at: range.lowerBound) { $0.zero($1) }
  }

  private func write(
    _ count: UInt64, at offset: UInt64, _ body: (inout PagedBytes, Range<UInt64>) -> Void
  ) throws(DiskError) {
    guard isWritable else { throw DiskError(operation: "pwrite", path: path, code: EBADF) }
    let (end, overflow) = offset.addingReportingOverflow(count)
    guard !overflow else { throw DiskError(operation: "pwrite", path: path, code: EFBIG) }
    try disk.write(offset..<end, to: self, body)
  }

  func writeBack(_ range: Range<UInt64>) throws(DiskError) {}

  func sync() throws(DiskError) { disk.sync() }

  func map(capacity: Int) throws(DiskError) -> (any DiskMapping)? { disk.map(self, capacity: capacity) }

  func tryLock() throws(DiskError) -> Bool { disk.tryLock(self) }

  func unlock() throws(DiskError) { disk.unlock(self) }

  func isLockedElsewhere() throws(DiskError) -> Bool { disk.isLockedElsewhere(self) }
}

final class ImageMapping: DiskMapping {
  let space: AddressSpace

  init(space: AddressSpace) { self.space = space }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(space.bytes) }
}

final class ImageFolder: DiskFolder {
  private let disk: ImageDisk
  private let number: DiskImage.Number

  init(disk: ImageDisk, number: DiskImage.Number) {
    self.disk = disk
    self.number = number
  }

  func identity(of name: String) -> FileIdentity? { disk.identity(of: name, in: number) }
}

final class ImageWatch: DiskWatch {
  private let disk: ImageDisk
  private let identifier: UInt64

  init(disk: ImageDisk, identifier: UInt64) {
    self.disk = disk
    self.identifier = identifier
  }

  deinit { disk.endWatch(identifier) }
}

/// Changes that come before the last one was delivered are delivered as one, away from the thread that made them.
final class PendingChange: Sendable {
  private let change: @Sendable () -> Void
  private let isPending = Atomic(false)

  init(_ change: @escaping @Sendable () -> Void) { self.change = change }

  func tell() {
    guard !isPending.exchange(true, ordering: .acquiringAndReleasing) else { return }
    Task.detached {
      self.isPending.store(false, ordering: .sequentiallyConsistent)
      self.change()
    }
  }
}
