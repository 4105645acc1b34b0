import CodableDatastore
import LibraryModel
import SwiftUI

/// The books in the order of their titles, kept current while letters arrive.
struct BookList: View {
  let library: Library
  @State private var books: LiveResults<BookFormat>
  @State private var refusals: [String] = []

  init(library: Library) {
    self.library = library
    _books = State(initialValue: LiveResults(of: library.books, sortedBy: { $0.title < $1.title }))
  }

  var body: some View {
    List {
      ForEach(books.instances) { book in Text(book.title) }
        .onDelete { places in
          let removed = places.map { books.instances[$0] }
          Task {
            try await library.persistence.perform(actionName: "Delete books") {
              for book in removed { try await library.books.delete(book) }
            }
          }
        }
      ForEach(refusals, id: \.self) { reason in Text(reason) }
    }
    .task {
      for await event in library.persistence.inbox.events {
        if case .refused(_, let reason) = event { refusals.append(reason) }
      }
    }
  }
}
