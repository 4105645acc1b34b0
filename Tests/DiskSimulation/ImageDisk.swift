import StrataLocks
package import StrataEngine

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A disk that is a value in memory, which can be copied at any moment. The simulated disk is built on it.
///
/// It matches the real one in everything that the protocol shows: names, locks between opens, files that live on while they are open,
/// watches, mappings that show written bytes. Sync has nothing to do.
package final class ImageDisk: Disk {
  fileprivate struct State {
    var image: DiskImage
    var openCounts: [DiskImage.Number: Int] = [:]
    /// The holder of a file's lock: the number of the open.
    var locks: [DiskImage.Number: UInt64] = [:]
    var lastOpen: UInt64 = 0
    var watches: [UInt64: Watch] = [:]
    var lastWatch: UInt64 = 0
    var capacity: Int?
    /// Whether a write takes room even over existing pages, which the next sync frees, and how many pages wait for that.
    var writesAnew = false
    var replacedPages = 0
    var isReadOnly = false
    /// The mappings of files, which are changed as the files are.
    var mappings: [DiskImage.Number: [WeakMapping]] = [:]
  }

  fileprivate struct WeakMapping {
    weak var mapping: ImageMapping?
  }

  fileprivate struct Watch {
    var path: String
    var pending: PendingChange
  }

  private let state: Mutex<State>
  /// Distinguishes the files of this disk from those of others.
  private let device: UInt64

  /// Creates a disk that holds `image`, on which files may occupy `capacity` bytes (in whole pages of 4 KiB; no limit if nil).
  package init(_ image: DiskImage = DiskImage(), capacity: Int? = nil) {
    state = Mutex(State(image: image, capacity: capacity.map { $0 / PagedBytes.pageSize }))
    device = UInt64.random(in: 1 ... .max)
  }

  /// The contents of the disk now, as a value.
  package var image: DiskImage { state.withLock { $0.image } }

  /// Sets the number of bytes that all files may occupy together; nil for no limit.
  package func setCapacity(_ capacity: Int?) {
    state.withLock { state in
      state.capacity = capacity.map { $0 / PagedBytes.pageSize }
      state.writesAnew = false
    }
  }

  /// Leaves room for a number of pages of 4 KiB, on a disk that from now on writes every page to a new place, as Btrfs does: zeros over
  /// zeros take room, too, and the next sync frees the old pages. `setCapacity` ends that.
  package func fillWritingAnew(leaving pages: Int) {
    state.withLock { state in
      state.capacity = state.image.allocatedPages + pages
      state.writesAnew = true
      state.replacedPages = 0
    }
  }

  /// Whether opens for writing and changes of names fail, as on read-only media.
  package func setReadOnly(_ isReadOnly: Bool) { state.withLock { $0.isReadOnly = isReadOnly } }

  // MARK: Names

  package func open(_ path: String, _ mode: OpenMode) throws(DiskError) -> any DiskFile {
    let (number, open) = try change("open", path) { state throws(DiskError) in
      if mode != .read, state.isReadOnly { throw DiskError(operation: "open", path: path, code: EROFS) }
      let number = try mode == .create ? state.image.createFile(path) : state.image.existing(path, "open")
      guard !state.image.isDirectory(number) else { throw DiskError(operation: "open", path: path, code: EISDIR) }
      state.openCounts[number, default: 0] += 1
      state.lastOpen += 1
      if mode == .create { state.tell(path) }
      return (number, state.lastOpen)
    }
    return ImageFile(disk: self, number: number, open: open, path: path, isWritable: mode != .read)
  }

  package func makeDirectory(_ path: String) throws(DiskError) {
    try change("mkdir", path) { state throws(DiskError) in
      if let found = state.image.number(at: path), state.image.isDirectory(found) { return }
      if state.isReadOnly { throw DiskError(operation: "mkdir", path: path, code: EROFS) }
      let (parent, name) = try state.image.place(path, "mkdir")
      guard state.image.entries(of: parent)?[name] == nil else {
        throw DiskError(operation: "mkdir", path: path, code: EEXIST)
      }
      let number = state.image.make(directory: true)
      state.image.link(number, as: name, in: parent)
    }
  }

  package func list(_ path: String) throws(DiskError) -> [String] {
    try change("open", path) { state throws(DiskError) in
      guard let entries = state.image.entries(of: try state.image.existing(path, "open")) else {
        throw DiskError(operation: "open", path: path, code: ENOTDIR)
      }
      return Array(entries.keys)
    }
  }

  package func status(_ path: String) throws(DiskError) -> FileStatus? {
    state.withLock { state in
      state.image.number(at: path).map { status(of: $0, in: state) }
    }
  }

  package func openFolder(_ path: String) throws(DiskError) -> any DiskFolder {
    try change("open", path) { state throws(DiskError) in
      let number = try state.image.existing(path, "open")
      guard state.image.isDirectory(number) else { throw DiskError(operation: "open", path: path, code: ENOTDIR) }
      return ImageFolder(disk: self, number: number)
    }
  }

  package func rename(_ source: String, to target: String) throws(DiskError) {
    try change("rename", source) { state throws(DiskError) in
      if state.isReadOnly { throw DiskError(operation: "rename", path: source, code: EROFS) }
      let number = try state.image.existing(source, "rename")
      let (oldParent, oldName) = try state.image.place(source, "rename")
      let (newParent, newName) = try state.image.place(target, "rename")
      let replaced = state.image.entries(of: newParent)?[newName]
      if let replaced {
        guard replaced != number else { return }
        try state.image.checkReplacement(of: replaced, by: number, target)
      }
      state.image.unlink(oldName, in: oldParent)
      state.image.link(number, as: newName, in: newParent)
      if let replaced { state.discardIfUnused(replaced) }
      state.tell(source)
      state.tell(target)
    }
  }

  package func unlink(_ path: String) throws(DiskError) {
    try change("unlink", path) { state throws(DiskError) in
      if state.isReadOnly { throw DiskError(operation: "unlink", path: path, code: EROFS) }
      let number = try state.image.existing(path, "unlink")
      guard !state.image.isDirectory(number) else { throw DiskError(operation: "unlink", path: path, code: EISDIR) }
      let (parent, name) = try state.image.place(path, "unlink")
      state.image.unlink(name, in: parent)
      state.discardIfUnused(number)
      state.tell(path)
    }
  }

  package func removeDirectory(_ path: String) throws(DiskError) {
    try change("rmdir", path) { state throws(DiskError) in
      if state.isReadOnly { throw DiskError(operation: "rmdir", path: path, code: EROFS) }
      let number = try state.image.existing(path, "rmdir")
      guard let entries = state.image.entries(of: number) else {
        throw DiskError(operation: "rmdir", path: path, code: ENOTDIR)
      }
      guard entries.isEmpty else { throw DiskError(operation: "rmdir", path: path, code: ENOTEMPTY) }
      let (parent, name) = try state.image.place(path, "rmdir")
      state.image.unlink(name, in: parent)
      state.discardIfUnused(number)
    }
  }

  package func syncDirectory(_ path: String) throws(DiskError) {
    try change("open", path) { state throws(DiskError) in
      guard state.image.isDirectory(try state.image.existing(path, "open")) else {
        throw DiskError(operation: "open", path: path, code: ENOTDIR)
      }
    }
  }

  package func watch(_ path: String, change: @escaping @Sendable () -> Void) throws(DiskError) -> any DiskWatch {
    let path = "/" + DiskImage.names(in: path).joined(separator: "/")
    let identifier = state.withLock { state in
      state.lastWatch += 1
      state.watches[state.lastWatch] = Watch(path: path, pending: PendingChange(change))
      return state.lastWatch
    }
    return ImageWatch(disk: self, identifier: identifier)
  }

  package func now() -> Int64 { SystemDisk().now() }

  package func randomNumber() -> UInt64 { UInt64.random(in: 0 ... .max) }

  private func change<R: Sendable>(
    _ operation: String, _ path: String, _ body: (inout State) throws(DiskError) -> sending R
  ) throws(DiskError) -> R {
    guard !path.utf8.contains(0) else { throw DiskError(operation: operation, path: path, code: EINVAL) }
    return try state.withLock { state throws(DiskError) in try body(&state) }
  }

  func status(of number: DiskImage.Number) -> FileStatus { state.withLock { status(of: number, in: $0) } }

  func identity(of name: String, in folder: DiskImage.Number) -> FileIdentity? {
    state.withLock { state in
      state.image.entries(of: folder)?[name].map { status(of: $0, in: state).identity }
    }
  }

  private func status(of number: DiskImage.Number, in state: borrowing State) -> FileStatus {
    FileStatus(
      identity: FileIdentity(device: device, inode: number), size: state.image.contents(of: number)?.size ?? 0,
      isDirectory: state.image.isDirectory(number))
  }

  // MARK: Files

  func status(of file: ImageFile) -> FileStatus {
    state.withLock { status(of: file.number, in: $0) }
  }

  func read(_ file: ImageFile, into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
    // The pages are fetched under the lock and copied outside of it, so that readers do not wait for one another.
    let contents = state.withLock { $0.image.contents(of: file.number) }
    return contents?.read(into: buffer, at: offset) ?? 0
  }

  /// Writes as much of the range as is allowed, and throws an error for the rest.
  func write(
    _ range: Range<UInt64>, to file: ImageFile, _ body: (inout PagedBytes, Range<UInt64>) -> Void
  ) throws(DiskError) {
    let error = state.withLock { state -> Int32? in
      let (allowed, error) = state.allowance(for: range, in: file.number)
      if !allowed.isEmpty {
        state.replacedPages += state.pagesReplaced(by: allowed, in: file.number)
        state.image.change(file.number) { body(&$0, allowed) }
        state.showMapped(allowed, of: file.number)
        state.tell(file.number)
      }
      return error
    }
    if let error { throw DiskError(operation: "pwrite", path: file.path, code: error) }
  }

  func sync() { state.withLock { $0.replacedPages = 0 } }

  func reopened(_ file: ImageFile) -> ImageFile {
    let open = state.withLock { state in
      state.openCounts[file.number, default: 0] += 1
      state.lastOpen += 1
      return state.lastOpen
    }
    return ImageFile(disk: self, number: file.number, open: open, path: file.path, isWritable: true)
  }

  func map(_ file: ImageFile, capacity: Int) -> ImageMapping? {
    guard let space = AddressSpace(count: capacity) else { return nil }
    let mapping = ImageMapping(space: space)
    state.withLock { state in
      state.mappings[file.number, default: []].append(WeakMapping(mapping: mapping))
      state.image.contents(of: file.number)?.copyWritten(to: space.bytes)
    }
    return mapping
  }

  func tryLock(_ file: ImageFile) -> Bool {
    state.withLock { state in
      let holder = state.locks[file.number] ?? file.open
      if holder == file.open { state.locks[file.number] = file.open }
      return holder == file.open
    }
  }

  func unlock(_ file: ImageFile) {
    state.withLock { state in
      if state.locks[file.number] == file.open { state.locks[file.number] = nil }
    }
  }

  func isLockedElsewhere(_ file: ImageFile) -> Bool {
    state.withLock { ($0.locks[file.number] ?? file.open) != file.open }
  }

  func close(_ file: ImageFile) {
    state.withLock { state in
      if state.locks[file.number] == file.open { state.locks[file.number] = nil }
      state.openCounts[file.number, default: 1] -= 1
      if state.openCounts[file.number] == 0 { state.openCounts[file.number] = nil }
      state.discardIfUnused(file.number)
    }
  }

  func endWatch(_ identifier: UInt64) {
    // Released outside the lock: the closure may hold the last reference to a file of this disk.
    let ended = state.withLock { $0.watches.removeValue(forKey: identifier) }
    withExtendedLifetime(ended) {}
  }
}

extension ImageDisk.State {
  /// The part of a write that fits into the file and onto the disk, and the error for the rest.
  func allowance(for range: Range<UInt64>, in file: DiskImage.Number) -> (Range<UInt64>, Int32?) {
    guard range.upperBound <= PagedBytes.sizeLimit else { return (range.lowerBound..<range.lowerBound, EFBIG) }
    guard let capacity, let contents = image.contents(of: file) else { return (range, nil) }
    let free = max(0, capacity - image.allocatedPages - (writesAnew ? replacedPages : 0))
    func needed(_ range: Range<UInt64>) -> Int {
      contents.pagesToAllocate(for: range) + pagesReplaced(by: range, in: file)
    }
    guard needed(range) > free else { return (range, nil) }
    // Like a real disk, it takes the part that still fits.
    let pageSize = UInt64(PagedBytes.pageSize)
    var end = range.lowerBound
    while end < range.upperBound {
      let next = min(range.upperBound, (end / pageSize + 1) * pageSize)
      if needed(range.lowerBound..<next) > free { break }
      end = next
    }
    return (range.lowerBound..<end, ENOSPC)
  }

  /// The number of existing pages that a write replaces, on a disk that writes them elsewhere.
  func pagesReplaced(by range: Range<UInt64>, in file: DiskImage.Number) -> Int {
    guard writesAnew, !range.isEmpty, let contents = image.contents(of: file) else { return 0 }
    let pageSize = UInt64(PagedBytes.pageSize)
    let pages = (range.upperBound - 1) / pageSize - range.lowerBound / pageSize + 1
    return Int(pages) - contents.pagesToAllocate(for: range)
  }

  /// Copies the bytes written to a range of a file into the file's mappings.
  fileprivate mutating func showMapped(_ range: Range<UInt64>, of file: DiskImage.Number) {
    guard let mappings = mappings[file], let contents = image.contents(of: file) else { return }
    self.mappings[file] = mappings.filter { $0.mapping != nil }
    for mapping in mappings.compactMap(\.mapping) {
      let end = min(range.upperBound, UInt64(mapping.bytes.count))
      guard range.lowerBound < end else { continue }
      let target = UnsafeMutableRawBufferPointer(rebasing: mapping.space.bytes[Int(range.lowerBound)..<Int(end)])
      _ = contents.read(into: target, at: range.lowerBound)
    }
  }

  fileprivate mutating func discardIfUnused(_ number: DiskImage.Number) {
    if image.linkCount(number) == 0, openCounts[number] == nil { image.discard(number) }
  }

  func tell(_ path: String) {
    guard !watches.isEmpty else { return }
    let path = "/" + DiskImage.names(in: path).joined(separator: "/")
    for watch in watches.values where watch.path == path { watch.pending.tell() }
  }

  func tell(_ number: DiskImage.Number) {
    for watch in watches.values where image.number(at: watch.path) == number { watch.pending.tell() }
  }
}

extension DiskImage {
  func existing(_ path: String, _ operation: String) throws(DiskError) -> Number {
    guard let number = number(at: path) else { throw DiskError(operation: operation, path: path, code: ENOENT) }
    return number
  }

  /// The directory that holds (or would hold) a path's last name, and that name.
  package func place(_ path: String, _ operation: String) throws(DiskError) -> (directory: Number, name: String) {
    var names = DiskImage.names(in: path)
    guard let name = names.popLast() else { throw DiskError(operation: operation, path: path, code: EBUSY) }
    guard let parent = number(at: names.joined(separator: "/")) else {
      throw DiskError(operation: operation, path: path, code: ENOENT)
    }
    guard isDirectory(parent) else { throw DiskError(operation: operation, path: path, code: ENOTDIR) }
    return (parent, name)
  }

  fileprivate mutating func createFile(_ path: String) throws(DiskError) -> Number {
    let (parent, name) = try place(path, "open")
    guard entries(of: parent)?[name] == nil else { throw DiskError(operation: "open", path: path, code: EEXIST) }
    let number = make(directory: false)
    link(number, as: name, in: parent)
    return number
  }

  /// Checks a replacement: a file may replace a file, a directory an empty directory.
  func checkReplacement(of target: Number, by source: Number, _ path: String) throws(DiskError) {
    guard let entries = entries(of: target) else {
      if isDirectory(source) { throw DiskError(operation: "rename", path: path, code: ENOTDIR) }
      return
    }
    guard isDirectory(source) else { throw DiskError(operation: "rename", path: path, code: EISDIR) }
    guard entries.isEmpty else { throw DiskError(operation: "rename", path: path, code: ENOTEMPTY) }
  }
}
