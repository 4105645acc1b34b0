package import StrataModel
import StrataEngine
import StrataLocks

extension FolderStore {
  package func follow(_ change: @escaping @Sendable () -> Void) throws(ModelError) -> any Sendable & AnyObject {
    try FolderFollower(contents, change)
  }
}

/// Watches the folder's two pointers: `Info.json`, which names the snapshot, and the snapshot's manifest, which names the commit.
///
/// Apps of the original library rewrite `Info.json` whenever they read, so a change is reported only if the pointers lead to another
/// iteration.
private final class FolderFollower: Sendable {
  private let contents: FolderContents
  private let change: @Sendable () -> Void
  private let state = Mutex(State())

  private struct State: Sendable {
    var pointer: FolderHistory.Link?
    var information: (any Sendable & AnyObject)?
    /// The manifest that is watched, and its watch.
    var snapshot: DatedIdentifier?
    var manifest: (any Sendable & AnyObject)?
  }

  init(_ contents: FolderContents, _ change: @escaping @Sendable () -> Void) throws(ModelError) {
    self.contents = contents
    self.change = change
    let pointer = currentPointer
    let information = try watch(InfoFile.name)
    state.withLock {
      $0.pointer = pointer
      $0.information = information
    }
    followSnapshot()
  }

  /// Never polls. The file need not exist yet, but its directory must.
  private func watch(_ file: String) throws(ModelError) -> any Sendable & AnyObject {
    let path = "\(contents.files.path)/\(file)"
    do throws(DiskError) {
      return try SystemDisk().watch(path) { [weak self] in self?.look() }
    } catch {
      throw .storage("\(path) cannot be watched: \(error.operation) failed with error \(error.code)", kind: .failed)
    }
  }

  private var currentPointer: FolderHistory.Link? {
    var damage: String?
    return (try? FolderStore.currentIteration(of: contents, damage: &damage)) ?? nil
  }

  private func look() {
    followSnapshot()
    let pointer = currentPointer
    let hasMoved = state.withLock { state in
      defer { state.pointer = pointer }
      return state.pointer != pointer
    }
    if hasMoved { change() }
  }

  /// Watches the manifest of the snapshot that is current now.
  private func followSnapshot() {
    guard let info: InfoFile = try? contents.parse(InfoFile.name), let snapshot = info.currentSnapshot,
      state.withLock({ $0.snapshot }) != snapshot, let manifest = try? watch(FolderLayout.manifest(of: snapshot))
    else { return }
    state.withLock {
      $0.snapshot = snapshot
      $0.manifest = manifest
    }
  }
}
