package import StrataModel

/// The commits of a folder, oldest first, as far back as the files reach.
///
/// Only backward links are stored, so one walk from the newest finds all; a refresh walks the new part only.
package struct FolderHistory: Sendable {
  /// Oldest first; commit 1 is the first.
  package private(set) var links: [Link] = []
  /// The reason that the history does not begin at a first commit; nil if it does.
  package private(set) var ending: Ending?

  /// An iteration and the snapshot that holds it.
  package struct Link: Hashable, Sendable {
    package var iteration: DatedIdentifier
    package var snapshot: DatedIdentifier

    package var file: String { FolderLayout.iteration(iteration, in: snapshot) }
  }

  package enum Ending: Hashable, Sendable {
    /// The file before the oldest is gone, as after pruning; no damage.
    case pruned(DatedIdentifier)
    /// The one before the oldest cannot be read.
    case unreadable(FolderError)
    /// The links lead back to a commit that was met already.
    case loop(Link)
  }

  package init() {}

  /// Walks back from an iteration. `known` is an earlier walk, which is reused from the commit where the new one meets it.
  package init(
    from head: Link, known: FolderHistory = FolderHistory(), in contents: FolderContents
  ) throws(FolderError) {
    var newestFirst: [Link] = []
    var seen: Set<Link> = []
    var next: Link? = head
    while let link = next {
      if let newest = known.links.last, newest == link {
        links = known.links
        ending = known.ending
        break
      }
      guard seen.insert(link).inserted else {
        ending = .loop(link)
        break
      }
      do throws(FolderError) {
        next = try Self.predecessor(of: link, in: contents)
      } catch {
        guard !newestFirst.isEmpty else { throw error }
        ending = .unreadable(error)
        break
      }
      newestFirst.append(link)
      if next == nil, let pruned = try contents.iteration(link).preceding { ending = .pruned(pruned) }
    }
    links += newestFirst.reversed()
  }

  /// The commit before one: in the same snapshot, else in the snapshot that the file names, which is stale in most files.
  private static func predecessor(of link: Link, in contents: FolderContents) throws(FolderError) -> Link? {
    let iteration = try contents.iteration(link)
    guard let preceding = iteration.preceding else { return nil }
    for snapshot in [link.snapshot, iteration.precedingSnapshot] {
      guard let snapshot else { continue }
      let candidate = Link(iteration: preceding, snapshot: snapshot)
      if contents.files.size(of: candidate.file) != nil { return candidate }
    }
    return nil
  }

  /// The newest commit's number; 0 if there is none.
  package var head: CommitNumber { CommitNumber(UInt64(links.count)) }

  package func link(_ commit: CommitNumber) -> Link? {
    guard commit.rawValue > 0, let index = Int(exactly: commit.rawValue - 1), index < links.count else { return nil }
    return links[index]
  }
}
