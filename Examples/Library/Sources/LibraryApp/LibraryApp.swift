import CodableDatastore
import LibraryModel
import SwiftUI

/// The app. It is the one process that writes to the store.
@main
struct LibraryApp: App {
  @Environment(\.scenePhase) private var phase
  @State private var library = LibraryLocation.url.flatMap { try? Library(at: $0) }

  var body: some Scene {
    WindowGroup {
      if let library {
        BookList(library: library)
      } else {
        Text("The library cannot be opened.")
      }
    }
    .onChange(of: phase) { _, phase in
      guard let persistence = library?.persistence else { return }
      Task {
        switch phase {
        // The system ends a suspended process that holds a lock in the group's folder.
        case .background: try? await persistence.suspend()
        case .active: await persistence.resume()
        default: break
        }
      }
    }
  }
}
