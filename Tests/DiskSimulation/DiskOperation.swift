/// One thing that was done to a simulated disk, in the order in which it was done.
package enum DiskOperation: Sendable {
  /// A file or directory was made; its name is durable only after its directory has been synced.
  case make(DiskImage.Number, isDirectory: Bool, name: DiskName)
  /// A name took the place of another, in one step.
  case move(DiskImage.Number, from: DiskName, to: DiskName)
  case remove(DiskName)
  case write(DiskImage.Number, at: UInt64, [UInt8])
  case zero(DiskImage.Number, Range<UInt64>)
  /// A file's contents, or a directory's names, became durable.
  case sync(DiskImage.Number)
  /// A sync failed. The page cache holds the unsynced writes as clean: no later sync will bring them to the disk.
  case syncFailed(DiskImage.Number)
  /// The test says what the store has promised so far, as "commit 7 is durable".
  case note(UInt64)
}

/// An entry of a directory.
package struct DiskName: Hashable, Sendable {
  package var directory: DiskImage.Number
  package var name: String
}

/// The kinds of calls that can be counted and made to fail.
package enum DiskCall: String, Hashable, Sendable, CaseIterable {
  case open, makeDirectory, list, status, rename, unlink, syncDirectory, watch
  case read, write, zero, writeBack, sync, lock
}

/// A failure to come.
package struct DiskFault: Sendable {
  /// The kind of call, or nil for any.
  package var call: DiskCall?
  /// Which of these calls fails, counted from 1 when the fault is planted.
  package var number: Int
  /// The C error number.
  package var code: Int32
  /// Whether all later calls of the kind fail too.
  package var isLasting: Bool
  /// Whether a failing write leaves its first half behind, as when the disk fills up on the way.
  package var isPartial: Bool

  package init(call: DiskCall? = nil, number: Int, code: Int32, isLasting: Bool = false, isPartial: Bool = false) {
    self.call = call
    self.number = number
    self.code = code
    self.isLasting = isLasting
    self.isPartial = isPartial
  }
}
