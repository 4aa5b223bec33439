import { vi } from 'vitest'
import type { OpenApiDocument } from '../../src/api/http/openapi.ts'
import type { Call } from './owned-objects.ts'
import type { TestRelay } from './start-relay.ts'

/** What was made so that a request can succeed. */
export interface Fitting {
  parameters?: Record<string, string>
  headers?: Record<string, string>
  /** What the marks `<own …>` in its body stand for. */
  own?: Record<string, string>
}

/** What makes it, by the path of the document, or by the method and the path. */
export type Makers = Record<string, () => Promise<Fitting>>

export interface MakerServices {
  relay: TestRelay
  /** As an operator with a live key. */
  call: Call
  /** With a key of the sandbox. */
  rehearse: Call
  /** Has others leave the object with this id alone. */
  keep(id: string): void
  /** A new number at each call. */
  next(): number
  document: OpenApiDocument
}

/** What is found in the end: until then it throws. */
export const inTheEnd = <T>(find: () => Promise<T>): Promise<T> => vi.waitFor(find, { timeout: 90_000, interval: 5 })

/** The body that the document shows for `POST`. */
export const exampleOf = (document: OpenApiDocument, path: string): unknown =>
  (document.paths[path]!.post!.requestBody as { content: { 'application/json': { example: unknown } } }).content['application/json'].example
