import type { z } from 'zod'
import type { Caller } from './caller.ts'

/** A call of an operation on the object that its path names. */
export interface CallTo<Name extends string = never> {
  caller: Caller
  /** What the path says, by name, decoded. */
  params: Readonly<Record<Name, string>>
}

/** A call as a handler gets it: allowed and valid. */
export interface Call<Name extends string, Query, Value, Header extends string = never> extends CallTo<Name> {
  query: Query
  body: Value
  headers: Headers<Header>
  /** The path as it was called. */
  path: string
  reply: ReplyHeaders
}

/** The header fields of a call that the operation declares, by their names in lower case. */
export type Headers<Header extends string = never> = Readonly<Partial<Record<Header | 'idempotency-key', string>>>

/** The header fields of the answer. */
export interface ReplyHeaders {
  set(name: string, value: string): void
  append(name: string, value: string): void
}

/** What an operation declares of the body of a call. */
export interface Body {
  schema: z.ZodType
  /** True if a call without a body is the same as `{}`. */
  optional?: boolean
  /** bytes; default: `standardBodyLimit` */
  limit?: number
  /**
   * In which form the handler gets it, and then validates it itself: `bytes` of JSON, which may be large and are parsed where nobody waits
   * for it, or a `text` of any media type. Without it the handler gets what `schema` makes of the JSON.
   */
  as?: 'bytes' | 'text'
  /** Default: `application/json`. */
  mediaType?: string
  example?: unknown
}

/** A call as a client makes it. */
export interface UncheckedCall {
  caller: Caller
  params: Readonly<Record<string, string>>
  /** The query string, without its question mark. */
  query: string
  headers: Headers<string>
  reply: ReplyHeaders
  /** The path as it was called. */
  path: string
  /** What is read of the body once the rest is right: a value of JSON, its bytes, or a text, as declared; undefined if there is none. */
  readBody(declared: Body): unknown
}
