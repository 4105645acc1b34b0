/// The policy for a folder that the original library wrote at a location where a store is to be opened for writing.
///
/// ```swift
/// var configuration = StoreConfiguration()
/// configuration.oldFolders = .convert
/// let persistence = try DiskPersistence.defaultStore(configuration: configuration)
/// ```
///
/// A persistence that only reads needs no policy: it shows the folder's newest state and leaves the folder as it is.
public struct OldFolderPolicy: Hashable, Sendable {
  /// Leaves the folder: opening throws ``StoreError`` of kind `notAStore`, which says what to do.
  public static let refuse = OldFolderPolicy(converts: false)

  /// At the first use, a store with all its history replaces the folder, and the folder is kept beside it as `NAME.original` until the app
  /// deletes it.
  public static let convert = OldFolderPolicy(converts: true)

  /// As ``convert``, with options.
  ///
  /// - Parameters:
  ///   - keepsHistory: Whether older states become commits; otherwise the newest one is the first commit.
  ///   - progress: Receives the progress, on a thread of no actor. It is ignored when policies are compared.
  public static func convert(
    keepsHistory: Bool = true, progress: @escaping FolderConversionHandler
  ) -> OldFolderPolicy {
    OldFolderPolicy(converts: true, keepsHistory: keepsHistory, progress: progress)
  }

  let converts: Bool
  var keepsHistory = true
  var progress: FolderConversionHandler?

  /// Whether both treat a folder in the same way.
  public static func == (left: Self, right: Self) -> Bool {
    left.converts == right.converts && left.keepsHistory == right.keepsHistory
  }

  /// Hashes how the policy treats a folder.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(converts)
    hasher.combine(keepsHistory)
  }
}
