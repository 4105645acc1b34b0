package import StrataEngine
import StrataLocks
import StrataSystem

/// One of our own stores behind the reading and editing interface.
///
/// Reading never waits for a writer. An editing call takes the writer's lock and releases it at its end, unless `keepsLock` is set.
package final class EngineStore: EditableStore {
  /// The engine's store, for those who need what lies below the model (`compact`, `verify`, `copy`).
  package let engine: any Engine
  package let path: String
  package let access: StoreAccess
  /// The program that this store's commits name.
  package let program: String
  /// The app's own types, by datastore; empty in tools without them.
  package let formats: [String: any CompiledFormat]
  /// Whether the writer's lock stays taken between commits, as an app's own writer keeps it.
  package let keepsLock: Bool
  /// Whether the store is in memory: it ends with the last reference.
  package let isInMemory: Bool
  let descriptors = DescriptorCache()
  let proofs: RuleCache
  /// How many records the commits changed that brought back roots.
  let restoredCounts = Mutex(BoundedCache<RestoredCommit, [ChangeCount]>(half: 512))
  /// The entries that the last build of an index worked out, if it failed.
  let keptFill = Mutex<KeptFill?>(nil)
  let knownLetters = Mutex<[LetterNotice]>([])
  let disk: any Disk
  /// The other side of a line, if the store's bytes are there.
  let distant: (any DistantStore)?
  /// The name under which the edits of this value are made at most once; see `noting`.
  let letter: RecordedLetter?

  /// Takes an engine's store that is open already, as the typed library does.
  ///
  /// - Parameters:
  ///   - path: as the user gave it.
  ///   - keepsLock: leaves the writer's lock taken after a commit.
  ///   - isInMemory: whether the engine's store is.
  ///   - formats: the app's own types, if it has them.
  package init(
    _ engine: any Engine, path: String, access: StoreAccess = .readWrite, program: String = "", keepsLock: Bool = false,
    isInMemory: Bool = false, formats: [any CompiledFormat] = [], disk: any Disk = SystemDisk(),
    distant: (any DistantStore)? = nil
  ) {
    self.distant = distant
    letter = nil
    proofs = RuleCache()
    self.engine = engine
    self.path = path
    self.access = access
    self.program = program
    self.keepsLock = keepsLock
    self.isInMemory = isInMemory
    self.disk = disk
    self.formats = Dictionary(formats.map { ($0.datastore, $0) }) { first, _ in first }
  }

  /// The same store for one edit, which notes a name in its commit; see `noting`.
  init(_ store: EngineStore, noting letter: LetterName) {
    self.letter = RecordedLetter(letter)
    (engine, path, access, program) = (store.engine, store.path, store.access, store.program)
    (keepsLock, isInMemory, disk, formats) = (store.keepsLock, store.isInMemory, store.disk, store.formats)
    (distant, proofs) = (store.distant, store.proofs)
  }

  package func releaseMemory() { engine.releaseMemory() }

  /// Opens the store at a path.
  ///
  /// - Parameters:
  ///   - readOnly: refuses every change; a store that is damaged or cannot be written is read-only by itself.
  ///   - creates: creates the store if there is nothing at the path.
  ///   - patience: how many seconds a commit waits for another process's lock.
  package static func open(
    path: String, readOnly: Bool = false, program: String = "strata", author: String = "", creates: Bool = false,
    patience: Double = 2, formats: [any CompiledFormat] = [], disk: any Disk = SystemDisk()
  ) throws(ModelError) -> EngineStore {
    let isSealed = !readOnly && !FileAccess.isWritable(path)
    var options = StoreOptions(
      isReadOnly: readOnly || isSealed, lockPatience: patience, program: program, author: author)
    options.compresses = DatastoreDescriptor.compresses
    let engine = try onStorage {
      creates && !readOnly
        ? try FileStore.openOrCreate(at: path, options: options, disk: disk)
        : try FileStore.open(at: path, options: options, disk: disk)
    }
    let access: StoreAccess =
      if readOnly {
        .readOnly(reason: "it was opened for reading only")
      } else if let damage = engine.openingReport.damage {
        .readOnly(reason: "it is damaged (\(damage))")
      } else if isSealed {
        .readOnly(reason: "its files cannot be written")
      } else {
        .readWrite
      }
    return EngineStore(engine, path: path, access: access, program: program, formats: formats, disk: disk)
  }

  /// A store in memory, gone with the last reference.
  ///
  /// - Parameter path: the text to show as the store's path.
  package static func memory(
    path: String = "", program: String = "", author: String = "", formats: [any CompiledFormat] = []
  ) -> EngineStore {
    var options = StoreOptions(program: program, author: author)
    options.compresses = DatastoreDescriptor.compresses
    return EngineStore(
      FileStore.memory(options: options), path: path, program: program, isInMemory: true, formats: formats)
  }

  package var identity: String { engine.identity.text }

  package var isDistant: Bool { engine.isServed || distant != nil }
  package var isInPlace: Bool { isInMemory || (engine as? FileStore)?.isInPlace ?? true }
  /// Why a store that is not in place takes no changes.
  package static let absence = "the store was deleted or moved"

  package var openingReport: [String] {
    let report = engine.openingReport
    return report.notes + (report.damage.map { ["\($0)"] } ?? [])
  }

  package var damage: String? {
    let report = engine.openingReport
    return report.damage == nil ? nil : report.notes.first
  }

  package var nextPruning: Int64? { engine.pruningFailure?.nextAttempt }

  package var head: any ReadableView { view(engine.head) }

  package func refresh() throws(ModelError) -> any ReadableView {
    view(try onStorage { try engine.refresh() })
  }

  package func follow(_ change: @escaping @Sendable () -> Void) throws(ModelError) -> any Sendable & AnyObject {
    try onStorage { try engine.follow(change) }
  }

  package func view(at commit: CommitNumber) throws(ModelError) -> any ReadableView { try engineView(at: commit) }

  package var writer: WriterHold? { engine.writer.map { WriterHold($0) } }

  /// Leaves out the result of this process's own last work, which it knows without the store.
  package var activity: Activity? {
    let activity = engine.activity.flatMap { Activity(bytes: $0) }
    return activity?.ending?.processIdentifier == getpid() ? nil : activity
  }

  package var commitCount: UInt64 { engine.commitCount }
  package var generation: UInt64 { engine.identity.generation }

  /// Of a store in memory: the bytes of the file that was read into it, if it was read from one.
  package var byteCount: UInt64 {
    get throws(ModelError) { (isInMemory ? try? disk.status(path)?.size : nil) ?? engine.fileBytes }
  }

  package var historyBytes: UInt64? { (engine as? FileStore)?.historyBytes }

  func view(_ view: View) -> EngineView { EngineView(store: self, view: view) }

  func engineView(at commit: CommitNumber) throws(ModelError) -> EngineView {
    beginReading(.commits(from: [commit], limit: 1, folded: false))
    defer { endReading() }
    return view(try onStorage { try engine.view(at: commit.rawValue) })
  }
}

/// Descriptors by their bytes: a view is opened far more often than a descriptor changes.
final class DescriptorCache: Sendable {
  /// By the checks of their bytes, because a check is computed faster than a hash.
  private let known = Mutex<[UInt32: (bytes: [UInt8], descriptor: DatastoreDescriptor)]>([:])

  func descriptor(_ bytes: [UInt8]) throws(ModelError) -> DatastoreDescriptor {
    let check = crc32c(0, bytes)
    if let known = known.withLock({ $0[check] }), known.bytes == bytes { return known.descriptor }
    let descriptor = try DatastoreDescriptor(bytes: bytes)
    known.withLock {
      if $0.count > 1_000 { $0.removeAll() }
      $0[check] = (bytes, descriptor)
    }
    return descriptor
  }
}

/// A commit that brought back roots. A commit never changes, but compaction may put others together before it.
struct RestoredCommit: Hashable {
  var commit: CommitNumber
  var generation: UInt64
}
