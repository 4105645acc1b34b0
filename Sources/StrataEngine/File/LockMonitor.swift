import StrataLocks

/// Looks at a store's lock file again and again, as a reader does at every refresh.
///
/// The file stays open in between, and is opened again if another file has its name. If the disk maps files, the block in it is mapped,
/// too: a writer replaces it after each sync. So while its words are unchanged since the reader's last look, nothing is durable that the
/// reader does not know. If they have changed, they say how far the data is durable now. Neither takes a system call. The words cannot show
/// that another file has replaced the data or the lock, or that a writer was killed. That takes a whole look, which is due ten times a
/// second.
final class LockMonitor: Sendable {
  private let lockFile: LockFile
  private let isMapped: Bool
  /// How long the words alone are relied on, in nanoseconds.
  private let patience: Int64
  private let state = Mutex(State())

  private struct State: Sendable {
    var opened: Opened?
    /// The words that the newest whole look found, and its time.
    var seen: (words: HoldWords, at: Int64)?
  }

  private struct Opened: Sendable {
    var file: any DiskFile
    var identity: FileIdentity
    var mapped: MappedHold?
  }

  /// The result of a whole look.
  struct Answer {
    var hold: LockHold?
    /// Whether a writer lives.
    var isHeld: Bool
    /// The words as they were before everything else was read; nil if the block is not mapped.
    var words: HoldWords?
  }

  init(_ lockFile: LockFile, options: StoreOptions) {
    self.lockFile = lockFile
    isMapped = options.readsMapped
    patience = options.lookDistance
  }

  /// Returns whether a writer lives, and its hold in the lock file. Takes no lock.
  func look() throws(StorageError) -> Answer {
    let status = try engineCall { () throws(DiskError) in try lockFile.disk.status(lockFile.path) }
    guard let status else {
      state.withLock { $0 = State() }
      return Answer(hold: nil, isHeld: false, words: nil)
    }
    // The file may have been empty when it was opened, because its first writer had just made it.
    let isToMap = isMapped && status.size >= UInt64(StoredBlock.size)
    let opened = state.withLock { $0.opened }
    if let opened, opened.identity == status.identity, !isToMap || opened.mapped != nil {
      return try Self.look(opened)
    }
    guard let file = try? lockFile.disk.open(lockFile.path, .read), let found = try? file.status else {
      // It was removed meanwhile, or may not be read: the usual way finds out which.
      let (hold, isHeld) = try lockFile.look()
      return Answer(hold: hold, isHeld: isHeld, words: nil)
    }
    let mapped = isMapped && found.size >= UInt64(StoredBlock.size) ? MappedHold(file) : nil
    let new = Opened(file: file, identity: found.identity, mapped: mapped)
    state.withLock { $0 = State(opened: new) }
    return try Self.look(new)
  }

  /// The hold that a vanished writer left says nothing to a reader, so it is not read.
  private static func look(_ opened: Opened) throws(StorageError) -> Answer {
    // Read first, so that a change in the meantime is found later.
    let words = opened.mapped?.words
    let isHeld = try engineCall { () throws(DiskError) in try opened.file.isLockedElsewhere() }
    return Answer(hold: isHeld ? try LockFile.hold(in: opened.file) : nil, isHeld: isHeld, words: words)
  }

  /// Makes a whole look due, because other files may have taken the names.
  func expire() { state.withLock { $0.seen = nil } }

  /// Records that the caller has read everything that a whole look found.
  func recordSeen(_ answer: Answer) {
    state.withLock { $0.seen = answer.words.map { ($0, monotonicClock()) } }
  }

  /// Records that the caller has read everything that the mapped words announced. The time of the next whole look stays as it is.
  func recordSeen(_ words: HoldWords) { state.withLock { $0.seen?.words = words } }

  /// Whether a whole look would find the same as last time. Makes no system call.
  var isUnchanged: Bool {
    state.withLock { state in
      guard let seen = state.seen, let mapped = state.opened?.mapped, mapped.words == seen.words else { return false }
      return monotonicClock() &- seen.at < patience
    }
  }

  /// How far the writer of the last look has come meanwhile. Returns nil if only a whole look can tell. Makes no system call.
  var progress: HoldWords? {
    let (mapped, seen) = state.withLock { ($0.opened?.mapped, $0.seen) }
    guard let mapped, let seen, monotonicClock() &- seen.at < patience, let words = mapped.wholeWords,
      words.session == seen.words.session, words.generation == seen.words.generation,
      words.durableEnd > seen.words.durableEnd
    else { return nil }
    return words
  }
}

/// The words of a lock file's block that change with every commit of another process, and with every writer.
struct HoldWords: Hashable, Sendable {
  var generation: UInt64
  var durableEnd: FileOffset
  var session: UInt64
}

/// The block of a lock file, mapped.
///
/// It is replaced in place by one small write, and a mapping shows the written bytes as soon as the write has returned. The file systems
/// for which that is not so are those whose mappings are in doubt (`StoreOptions.readsMapped`). A read during a write finds some words old
/// and some new, and so at least one change.
final class MappedHold: Sendable {
  private let mapping: any DiskMapping

  /// Maps a file of at least a whole block. Returns nil if the disk does not map files.
  init?(_ file: any DiskFile) {
    guard let mapping = try? file.map(capacity: StoredBlock.size), mapping.bytes.count >= StoredBlock.size,
      let start = mapping.bytes.baseAddress, Int(bitPattern: start) % MemoryLayout<UInt64>.alignment == 0
    else { return nil }
    self.mapping = mapping
  }

  var words: HoldWords {
    HoldWords(
      generation: word(at: LockHold.generationOffset), durableEnd: FileOffset(word(at: LockHold.durableEndOffset)),
      session: word(at: LockHold.sessionOffset))
  }

  /// The words of the block. Returns nil unless the block is whole by its check.
  var wholeWords: HoldWords? {
    // Copied first, because the words of a hold are read one after the other.
    let copy = MemoryBlock(count: StoredBlock.size)
    for offset in stride(from: 0, to: StoredBlock.size, by: 8) {
      copy.bytes.storeBytes(of: word(at: offset), toByteOffset: offset, as: UInt64.self)
    }
    guard let hold = LockHold(UnsafeRawBufferPointer(copy.bytes)) else { return nil }
    return HoldWords(generation: hold.generation, durableEnd: hold.durableEnd, session: hold.session)
  }

  /// Other processes write the block, so each word is read atomically, as one that changes at any moment.
  private func word(at offset: Int) -> UInt64 {
    guard let start = mapping.bytes.baseAddress else { return 0 }
    let word = (start + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
    return UInt64(littleEndian: word.pointee.load(ordering: .acquiring))
  }
}
