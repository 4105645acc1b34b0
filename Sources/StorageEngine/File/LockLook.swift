import Locks

/// Looks at a store's lock file again and again, as a reader does at every refresh.
///
/// The file is kept open between, and opened anew where another file has its name. Where the disk maps files, the block in it is mapped
/// too: a writer replaces it after each sync, so as long as its words stay what they were when the reader looked last, nothing is
/// durable that the reader does not know; and where they have changed, they say how far the data is durable now. Neither takes a system
/// call. What the words cannot tell, that somebody has put another file in the place of the data or of the lock, or that a writer was
/// killed, takes a whole look, which is due ten times a second.
final class LockLook: Sendable {
  private let lockFile: LockFile
  private let isMapped: Bool
  /// How long the words alone are gone by, in nanoseconds.
  private let patience: Int64
  private let state = Mutex(State())

  private struct State: Sendable {
    var opened: Opened?
    /// What the newest whole look found, and when.
    var seen: (words: HoldWords, at: Int64)?
  }

  private struct Opened: Sendable {
    var file: any DiskFile
    var identity: FileIdentity
    var mapped: MappedHold?
  }

  /// What a whole look found.
  struct Answer {
    var hold: LockHold?
    /// Whether a writer lives.
    var isHeld: Bool
    /// The words as they were before all that was found; nil where the block is not mapped.
    var words: HoldWords?
  }

  init(_ lockFile: LockFile, options: StoreOptions) {
    self.lockFile = lockFile
    isMapped = options.readsMapped
    patience = options.lookDistance
  }

  /// Whether a writer lives, and what it says in the lock file. Takes nothing.
  func look() throws(StorageError) -> Answer {
    let status = try engineCall { () throws(DiskError) in try lockFile.disk.status(lockFile.path) }
    guard let status else {
      state.withLock { $0 = State() }
      return Answer(hold: nil, isHeld: false, words: nil)
    }
    if var opened = state.withLock({ $0.opened }), opened.identity == status.identity {
      if opened.mapped == nil, isMapped, status.size >= UInt64(LockHold.size) {
        // It was empty when it was opened: its first writer had just made it.
        opened.mapped = MappedHold(opened.file)
        state.withLock { [opened] in $0.opened = opened }
      }
      return try Self.look(opened)
    }
    guard let file = try? lockFile.disk.open(lockFile.path, .read), let found = try? file.status else {
      // It went meanwhile, or may not be read: the usual way tells which.
      let (hold, isHeld) = try lockFile.look()
      return Answer(hold: hold, isHeld: isHeld, words: nil)
    }
    let mapped = isMapped && found.size >= UInt64(LockHold.size) ? MappedHold(file) : nil
    let opened = Opened(file: file, identity: found.identity, mapped: mapped)
    state.withLock { $0 = State(opened: opened) }
    return try Self.look(opened)
  }

  /// What a writer that is gone has left there says nothing to a reader, so it is not read.
  private static func look(_ opened: Opened) throws(StorageError) -> Answer {
    // First of all, so that what changes meanwhile is found to have changed.
    let words = opened.mapped?.words
    let isHeld = try engineCall { () throws(DiskError) in try opened.file.isLockedElsewhere() }
    return Answer(hold: isHeld ? try LockFile.hold(in: opened.file) : nil, isHeld: isHeld, words: words)
  }

  /// Notes that all was taken in which a whole look has found.
  func note(_ answer: Answer) {
    state.withLock { $0.seen = answer.words.map { ($0, monotonicClock()) } }
  }

  /// Notes that all was taken in which the mapped words told; the next whole look is due when it was.
  func note(_ words: HoldWords) { state.withLock { $0.seen?.words = words } }

  /// Whether a whole look would find what it found last time. No system call.
  var isUnchanged: Bool {
    state.withLock { state in
      guard let seen = state.seen, let mapped = state.opened?.mapped, mapped.words == seen.words else { return false }
      return monotonicClock() &- seen.at < patience
    }
  }

  /// How far the writer of the last look has come meanwhile; nil where only a whole look can tell. No system call.
  var progress: HoldWords? {
    let (mapped, seen) = state.withLock { ($0.opened?.mapped, $0.seen) }
    guard let mapped, let seen, monotonicClock() &- seen.at < patience, let words = mapped.wholeWords,
      words.session == seen.words.session, words.generation == seen.words.generation,
      words.durableEnd > seen.words.durableEnd
    else { return nil }
    return words
  }
}

/// What changes in a lock file's block with every commit of another process, and with every writer.
struct HoldWords: Hashable, Sendable {
  var generation: UInt64
  var durableEnd: FileOffset
  var session: UInt64
}

/// The block of a lock file, mapped.
///
/// It is replaced in place by one small write, and a mapping shows what was written as soon as the write has returned: file systems for
/// which that is not so are those whose mappings are in doubt (`StoreOptions.readsMapped`). A read in the middle of a write finds some
/// words old and some new, and so at least one change.
final class MappedHold: Sendable {
  private let mapping: any DiskMapping

  /// `file`: of a whole block at least. Nil where the disk does not map.
  init?(_ file: any DiskFile) {
    guard let mapping = try? file.map(capacity: LockHold.size), mapping.bytes.count >= LockHold.size,
      let start = mapping.bytes.baseAddress, Int(bitPattern: start) % MemoryLayout<UInt64>.alignment == 0
    else { return nil }
    self.mapping = mapping
  }

  var words: HoldWords {
    HoldWords(
      generation: word(at: LockHold.generationOffset), durableEnd: FileOffset(word(at: LockHold.durableEndOffset)),
      session: word(at: LockHold.sessionOffset))
  }

  /// The words of a block that is whole by its check.
  var wholeWords: HoldWords? {
    // Copied first, as the words of a hold are read one after the other.
    let copy = MemoryBlock(count: LockHold.size)
    for offset in stride(from: 0, to: LockHold.size, by: 8) {
      copy.bytes.storeBytes(of: word(at: offset), toByteOffset: offset, as: UInt64.self)
    }
    guard let hold = LockHold(UnsafeRawBufferPointer(copy.bytes)) else { return nil }
    return HoldWords(generation: hold.generation, durableEnd: hold.durableEnd, session: hold.session)
  }

  /// As other processes write it, so it is read as what changes at any moment.
  private func word(at offset: Int) -> UInt64 {
    guard let start = mapping.bytes.baseAddress else { return 0 }
    let word = (start + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
    return UInt64(littleEndian: word.pointee.load(ordering: .acquiring))
  }
}
