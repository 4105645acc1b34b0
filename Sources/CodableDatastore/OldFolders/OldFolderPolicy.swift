/// What becomes of a folder that the original library wrote, where a store is to be opened for writing.
///
/// ```swift
/// var configuration = StoreConfiguration()
/// configuration.oldFolders = .convert
/// let persistence = try DiskPersistence.defaultStore(configuration: configuration)
/// ```
///
/// A persistence that only reads needs no policy: it shows the folder's newest state and leaves the folder as it is.
public struct OldFolderPolicy: Hashable, Sendable {
  /// Nothing: opening throws ``StoreError`` of kind `notAStore`, which says what to do.
  public static let refuse = OldFolderPolicy(converts: false)

  /// At the first use a store with all its history takes the folder's place, and the folder is kept beside it as `NAME.original`
  /// until the app deletes it.
  public static let convert = OldFolderPolicy(converts: true)

  /// As ``convert``, with a say in it.
  ///
  /// - Parameters:
  ///   - keepsHistory: Whether older states become commits; otherwise the newest one is the first commit.
  ///   - progress: Hears how far it is, on a thread of no actor. Of two policies that differ in nothing else it makes no
  ///   difference.
  public static func convert(
    keepsHistory: Bool = true, progress: @escaping FolderConversionHandler
  ) -> OldFolderPolicy {
    OldFolderPolicy(converts: true, keepsHistory: keepsHistory, progress: progress)
  }

  let converts: Bool
  var keepsHistory = true
  var progress: FolderConversionHandler?

  /// Whether both do the same with a folder.
  public static func == (left: Self, right: Self) -> Bool {
    left.converts == right.converts && left.keepsHistory == right.keepsHistory
  }

  /// Adds what the policy does to a hash.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(converts)
    hasher.combine(keepsHistory)
  }
}
