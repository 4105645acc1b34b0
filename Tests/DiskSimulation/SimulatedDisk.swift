import StrataLocks
package import StrataEngine

/// A disk in memory that records every operation, and can be made to fail.
///
/// Reads see everything written, as a page cache shows it. `CrashImages` works out afterwards, from the record, which part of it would
/// survive a power cut at each moment. Its clock and its random numbers come from the seed, so that the same calls leave the same bytes.
package final class SimulatedDisk: Disk {
  fileprivate struct State {
    var record: [DiskOperation] = []
    var counts: [DiskCall: Int] = [:]
    var total = 0
    var fault: PlantedFault?
    var liesAboutSync = false
    var omittedSync: Int?
    var syncs = 0
    var random: RandomSource
    var time: Int64
  }

  fileprivate struct PlantedFault {
    var fault: DiskFault
    var seen = 0
  }

  private let memory: ImageDisk
  private let state: Mutex<State>
  /// The contents of the disk when the record began.
  package let start: DiskImage

  /// A disk that holds `image`. `capacity` is in bytes, in whole pages of 4 KiB; nil sets no limit.
  package init(_ image: DiskImage = DiskImage(), seed: UInt64 = 1, capacity: Int? = nil) {
    start = image
    memory = ImageDisk(image, capacity: capacity)
    state = Mutex(State(random: RandomSource(seed: seed), time: 1_767_225_600_000_000_000))
  }

  /// The operations so far.
  package var record: [DiskOperation] { state.withLock { $0.record } }

  /// All that can be read from the disk now.
  package var image: DiskImage { memory.image }

  /// How often each kind of call was made, including failed calls.
  package var counts: [DiskCall: Int] { state.withLock { $0.counts } }

  /// Calls of all kinds.
  package var callCount: Int { state.withLock { $0.total } }

  /// Enters a promise that the store has made into the record.
  package func note(_ promise: UInt64) { state.withLock { $0.record.append(.note(promise)) } }

  /// Makes a later call fail, and replaces the fault planted before. If nil, no more calls fail.
  package func plant(_ fault: DiskFault?) { state.withLock { $0.fault = fault.map { PlantedFault(fault: $0) } } }

  /// Whether `sync` and `syncDirectory` report success and do nothing, as some drives do. The crash tests use it to
  /// test themselves.
  package func setLiesAboutSync(_ lies: Bool) { state.withLock { $0.liesAboutSync = lies } }

  /// Omits one sync, counted from 1 over the later syncs of files and directories: it reports success and does nothing, as if the engine
  /// had forgotten it.
  package func omitSync(_ number: Int?) {
    state.withLock { state in
      state.omittedSync = number
      state.syncs = 0
    }
  }

  package func setCapacity(_ capacity: Int?) { memory.setCapacity(capacity) }

  /// See `ImageDisk.fillWritingAnew(leaving:)`.
  package func fillWritingAnew(leaving pages: Int) { memory.fillWritingAnew(leaving: pages) }

  package func setReadOnly(_ isReadOnly: Bool) { memory.setReadOnly(isReadOnly) }

  // MARK: Names

  package func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    try perform(.open, path) { state throws(DiskError) in
      let file = try memory.open(path, mode)
      let number = try file.status.identity.inode
      if mode == .create { try state.record.append(.make(number, isDirectory: false, name: name(path))) }
      return SimulatedFile(disk: self, file: file, number: number, path: path)
    }
  }

  package func makeDirectory(_ path: String) throws(DiskError) {
    try perform(.makeDirectory, path) { state throws(DiskError) in
      let isNew = memory.image.number(at: path) == nil
      try memory.makeDirectory(path)
      if isNew, let number = memory.image.number(at: path) {
        try state.record.append(.make(number, isDirectory: true, name: name(path)))
      }
    }
  }

  package func list(_ path: String) throws(DiskError) -> [String] {
    try perform(.list, path) { _ throws(DiskError) in try memory.list(path).sorted() }
  }

  package func status(_ path: String) throws(DiskError) -> FileStatus? {
    try perform(.status, path) { _ throws(DiskError) in try memory.status(path) }
  }

  package func openFolder(_ path: String) throws(DiskError) -> any DiskFolder {
    try perform(.open, path) { _ throws(DiskError) in
      SimulatedFolder(disk: self, folder: try memory.openFolder(path), path: path)
    }
  }

  fileprivate func identity(of name: String, in folder: SimulatedFolder) throws(DiskError) -> FileIdentity? {
    try perform(.status, folder.path + "/" + name) { _ throws(DiskError) in try folder.folder.identity(of: name) }
  }

  package func rename(_ source: String, to target: String) throws(DiskError) {
    try perform(.rename, source) { state throws(DiskError) in
      let number = memory.image.number(at: source)
      try memory.rename(source, to: target)
      if let number { try state.record.append(.move(number, from: name(source), to: name(target))) }
    }
  }

  package func unlink(_ path: String) throws(DiskError) {
    try perform(.unlink, path) { state throws(DiskError) in
      let name = try name(path)
      try memory.unlink(path)
      state.record.append(.remove(name))
    }
  }

  package func removeDirectory(_ path: String) throws(DiskError) {
    try perform(.unlink, path) { state throws(DiskError) in
      let name = try name(path)
      try memory.removeDirectory(path)
      state.record.append(.remove(name))
    }
  }

  package func syncDirectory(_ path: String) throws(DiskError) {
    let number = memory.image.number(at: path)
    try performSync(.syncDirectory, path, number) { () throws(DiskError) in try memory.syncDirectory(path) }
  }

  package func watch(_ path: String, change: @escaping @Sendable () -> Void) throws(DiskError) -> any DiskWatch {
    try perform(.watch, path) { _ throws(DiskError) in try memory.watch(path, change: change) }
  }

  package func now() -> Int64 {
    state.withLock { state in
      state.time += 1_000_000
      return state.time
    }
  }

  package func randomNumber() -> UInt64 { state.withLock { $0.random.next() } }

  private func name(_ path: String) throws(DiskError) -> DiskName {
    let (directory, name) = try memory.image.place(path, "place")
    return DiskName(directory: directory, name: name)
  }

  // MARK: Failing

  /// Makes one call, or lets it fail. The record has the calls in the order in which the disk saw them.
  private func perform<R>(
    _ call: DiskCall, _ path: String, _ body: (inout State) throws(DiskError) -> R
  ) throws(DiskError) -> R {
    let result = state.withLock { state -> Uncaught<R> in
      if let fault = state.count(call) {
        return Uncaught(.failure(DiskError(operation: call.rawValue, path: path, code: fault.code)))
      }
      return Uncaught(Result { () throws(DiskError) in try body(&state) })
    }
    return try result.value.get()
  }

  private func performSync(
    _ call: DiskCall, _ path: String, _ number: DiskImage.Number?, _ body: () throws(DiskError) -> Void
  ) throws(DiskError) {
    let result = state.withLock { state -> Result<Void, DiskError> in
      if let fault = state.count(call) {
        if let number { state.record.append(.syncFailed(number)) }
        return .failure(DiskError(operation: call.rawValue, path: path, code: fault.code))
      }
      return Result { () throws(DiskError) in
        try body()
        state.syncs += 1
        let isLeftOut = state.liesAboutSync || state.omittedSync == state.syncs
        if let number, !isLeftOut { state.record.append(.sync(number)) }
      }
    }
    try result.get()
  }

  // MARK: Files

  fileprivate func reopened(_ file: SimulatedFile) throws(DiskError) -> SimulatedFile? {
    try perform(.open, file.path) { _ throws(DiskError) in
      try file.file.reopened().map { SimulatedFile(disk: self, file: $0, number: file.number, path: file.path) }
    }
  }

  fileprivate func read(
    _ file: SimulatedFile, into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(DiskError) -> Int {
    try perform(.read, file.path) { _ throws(DiskError) in try file.file.read(into: buffer, at: offset) }
  }

  fileprivate func write(
    _ file: SimulatedFile, _ bytes: UnsafeRawBufferPointer, at offset: UInt64
  ) throws(DiskError) {
    let result = state.withLock { state -> Result<Void, DiskError> in
      let fault = state.count(.write)
      var accepted = bytes
      if let fault { accepted = UnsafeRawBufferPointer(rebasing: bytes[..<(fault.isPartial ? bytes.count / 2 : 0)]) }
      let before = memory.image.contents(of: file.number)
      return Result { () throws(DiskError) in
        do throws(DiskError) {
          try file.file.write(accepted, at: offset)
        } catch {
          recordWhatFitted(accepted, at: offset, file, before, &state)
          throw error
        }
        if accepted.count > 0 { state.record.append(.write(file.number, at: offset, Array(accepted))) }
        if let fault { throw DiskError(operation: "write", path: file.path, code: fault.code) }
      }
    }
    try result.get()
  }

  /// Records the part that fitted: a write that met the end of the disk may have left its beginning behind.
  private func recordWhatFitted(
    _ bytes: UnsafeRawBufferPointer, at offset: UInt64, _ file: SimulatedFile, _ before: PagedBytes?,
    _ state: inout State
  ) {
    guard let after = memory.image.contents(of: file.number), let before else { return }
    var fitted = 0
    var found = [UInt8](repeating: 0, count: bytes.count)
    let count = found.withUnsafeMutableBytes { after.read(into: $0, at: offset) }
    while fitted < count, found[fitted] == bytes[fitted] { fitted += 1 }
    if fitted > 0, after.size > before.size || after.array != before.array {
      state.record.append(.write(file.number, at: offset, Array(bytes[..<fitted])))
    }
  }

  fileprivate func zero(_ file: SimulatedFile, _ range: Range<UInt64>) throws(DiskError) {
    let result = state.withLock { state -> Result<Void, DiskError> in
      let fault = state.count(.zero)
      var accepted = range
      if let fault {
        let half = (range.upperBound - range.lowerBound) / 2
        accepted = range.lowerBound..<(range.lowerBound + (fault.isPartial ? half : 0))
      }
      return Result { () throws(DiskError) in
        do throws(DiskError) {
          try file.file.zero(accepted)
        } catch {
          // The pages that fitted are zero now. Pages that were zero before do not change.
          let end = memory.image.contents(of: file.number)?.endOfZeros(from: accepted) ?? accepted.lowerBound
          if end > accepted.lowerBound { state.record.append(.zero(file.number, accepted.lowerBound..<end)) }
          throw error
        }
        if !accepted.isEmpty { state.record.append(.zero(file.number, accepted)) }
        if let fault { throw DiskError(operation: "zero", path: file.path, code: fault.code) }
      }
    }
    try result.get()
  }

  fileprivate func writeBack(_ file: SimulatedFile, _ range: Range<UInt64>) throws(DiskError) {
    try perform(.writeBack, file.path) { _ throws(DiskError) in try file.file.writeBack(range) }
  }

  fileprivate func sync(_ file: SimulatedFile) throws(DiskError) {
    try performSync(.sync, file.path, file.number) { () throws(DiskError) in try file.file.sync() }
  }

  fileprivate func lock<R>(_ file: SimulatedFile, _ body: () throws(DiskError) -> R) throws(DiskError) -> R {
    try perform(.lock, file.path) { _ throws(DiskError) in try body() }
  }
}

extension SimulatedDisk.State {
  /// Counts a call. Returns the fault if the call is to fail.
  fileprivate mutating func count(_ call: DiskCall) -> DiskFault? {
    counts[call, default: 0] += 1
    total += 1
    guard var planted = fault, planted.fault.call == nil || planted.fault.call == call else { return nil }
    planted.seen += 1
    fault = planted
    let isDue =
      planted.fault.isLasting ? planted.seen >= planted.fault.number : planted.seen == planted.fault.number
    return isDue ? planted.fault : nil
  }
}

/// Carries a result out of a mutex. The caller's own closure made its contents, on the caller's own thread.
// `@unchecked`: it never leaves the thread that made it.
private struct Uncaught<R>: @unchecked Sendable {
  let value: Result<R, DiskError>

  init(_ value: Result<R, DiskError>) { self.value = value }
}

private final class SimulatedFolder: DiskFolder {
  let disk: SimulatedDisk
  let folder: any DiskFolder
  let path: String

  init(disk: SimulatedDisk, folder: any DiskFolder, path: String) {
    self.disk = disk
    self.folder = folder
    self.path = path
  }

  func identity(of name: String) throws(DiskError) -> FileIdentity? { try disk.identity(of: name, in: self) }
}

private final class SimulatedFile: DiskFile {
  let disk: SimulatedDisk
  let file: any DiskFile
  let number: DiskImage.Number
  let path: String

  init(disk: SimulatedDisk, file: any DiskFile, number: DiskImage.Number, path: String) {
    self.disk = disk
    self.file = file
    self.number = number
    self.path = path
  }

  var status: FileStatus {
    get throws(DiskError) { try file.status }
  }

  func reopened() throws(DiskError) -> (any DiskFile)? { try disk.reopened(self) }

  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(DiskError) -> Int {
    try disk.read(self, into: buffer, at: offset)
  }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(DiskError) {
    try disk.write(self, bytes, at: offset)
  }

  func zero(_ range: Range<UInt64>) throws(DiskError) { try disk.zero(self, range) }

  func writeBack(_ range: Range<UInt64>) throws(DiskError) { try disk.writeBack(self, range) }

  func sync() throws(DiskError) { try disk.sync(self) }

  func map(capacity: Int) throws(DiskError) -> (any DiskMapping)? { try file.map(capacity: capacity) }

  func tryLock() throws(DiskError) -> Bool { try disk.lock(self) { () throws(DiskError) in try file.tryLock() } }

  func unlock() throws(DiskError) { try disk.lock(self) { () throws(DiskError) in try file.unlock() } }

  func isLockedElsewhere() throws(DiskError) -> Bool {
    try disk.lock(self) { () throws(DiskError) in try file.isLockedElsewhere() }
  }
}
