import type { z } from 'zod'
import type { Right } from '../../senders/account/permission.ts'
import type { ErrorCode, SternaError } from '../../platform/errors.ts'
import type { Body, Call } from './call.ts'
import type { RawAnswer } from './raw-answer.ts'
import type { Table } from './csv.ts'
import type { QueryShape } from './query.ts'

/** A successful answer: the first one declared describes what `handle` returns. */
export interface Answer {
  status: number
  description: string
  /** Null if it is not JSON: a stream, a file. */
  schema: z.ZodType | null
  /** Only if `schema` is null. */
  mediaType?: string
}

/**
 * The declaration of an operation: what it requires, accepts, returns and refuses. Its route, its entry in the OpenAPI document, its
 * command and its tests are made from this.
 */
export interface Operation {
  /** Unique: `resource.verb` or `resource.verb_object`, such as `emails.send`. The audit log and generated clients name it so. */
  id: string
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** With parameters in braces: `/api/emails/{id}`. Under `/api/`, and at `/metrics`, a key is required; elsewhere it is not. */
  path: string
  /** Other paths that mean the same, under names of their own. */
  aliases?: readonly OperationName[]
  /** The resource it belongs to, such as `Emails`. */
  tag: string
  /** A few words without a full stop. */
  summary: string
  /** Markdown. */
  description?: string
  /** What the caller must be allowed to do. Null means: under `/api/`, any valid key will do; elsewhere, none is required. */
  permission: Right | null
  /**
   * True if a sandbox key may do this, because for such a key it changes only the sandbox. Otherwise sandbox keys are refused, except
   * for GET. `only`: it is for the sandbox alone, and live keys are refused.
   */
  sandbox?: true | 'only'
  /**
   * What an `Idempotency-Key` means to a POST under `/api/`. `own`: the handler writes its answer under the key in the batch that makes it
   * true. `none`: to do it again changes nothing. `secret`: its answer shows what is shown once. See `perform`.
   */
  idempotency?: 'own' | 'none' | 'secret'
  query?: QueryShape
  /** The header fields that the handler reads, in lower case. */
  headers?: readonly string[]
  body?: Body
  answers: readonly [Answer, ...Answer[]]
  /**
   * The first answer as CSV, at a path of its own: see `csvNameOf`. `query` has the parameter `format`, by which the operation's own path
   * gives it as well.
   */
  csv?(answer: never): Table
  /** In addition to the errors of every call, and those that follow from its path, query and body: see `refusalsOf`. */
  refuses?: readonly ErrorCode[]
  /** Refuses a call before its body is read, by what the rest of it says. */
  admit?(call: Call<never, never, null, string>): void
  handle(call: Call<never, never, never, string>): unknown
  /** What shows a refusal to a person who sees it as a page; without it, the client gets the error itself. */
  refusalPage?(error: SternaError, call: Call<never, unknown, unknown, string>): RawAnswer | Promise<RawAnswer>
}

const keyed = /^\/(?:api|metrics)(?:\/|$)/

/** Whether a call of this path requires an API key. */
export const needsKey = ({ path }: Pick<Operation, 'path'>): boolean => keyed.test(path)

/** Whether an `Idempotency-Key` counts. */
export const takesIdempotencyKey = (declared: Pick<Operation, 'method' | 'path'>): boolean =>
  declared.method === 'POST' && needsKey(declared)

/** Whether sandbox keys are refused. */
export const changesLive = (declared: Pick<Operation, 'method' | 'path' | 'sandbox'>): boolean =>
  declared.method !== 'GET' && !declared.sandbox && needsKey(declared)

/** Whether a call is recorded in the audit log. Sending is recorded by the messages themselves. */
export const isAudited = ({ method, permission }: Pick<Operation, 'method' | 'permission'>): boolean =>
  method !== 'GET' && permission !== null && permission !== 'sending_access' && permission !== 'read_access'

/** The query parameters as a handler receives them. */
export type QueryValues<Q> = { [Name in keyof Q]: Q[Name] extends z.ZodType ? z.output<Q[Name]> | null : never }

/** The parameters in a path. */
export type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never

type Shown<A> = A extends z.ZodType ? z.input<A> : unknown

type BodyValue<B, As> = As extends 'bytes' ? Buffer : As extends 'text' ? string : B extends z.ZodType ? z.output<B> : undefined

/** An operation whose handler receives and returns what the schemas say. */
export interface TypedOperation<Path extends string, Q, B, As, H extends string, A> extends Omit<
  Operation,
  'path' | 'query' | 'headers' | 'body' | 'answers' | 'admit' | 'handle' | 'refusalPage'
> {
  path: Path
  query?: Q
  headers?: readonly H[]
  body?: Omit<Body, 'schema' | 'as'> & { schema: B & z.ZodType; as?: As & Body['as'] }
  answers: readonly [Omit<Answer, 'schema'> & { schema: A }, ...Answer[]]
  admit?(call: Call<NamesIn<Path>, QueryValues<Q>, null, H>): void
  handle(call: Call<NamesIn<Path>, QueryValues<Q>, BodyValue<B, As>, H>): Shown<A> | RawAnswer | Promise<Shown<A> | RawAnswer>
  refusalPage?(error: SternaError, call: Call<NamesIn<Path>, unknown, unknown, H>): RawAnswer | Promise<RawAnswer>
}

/** Declares an operation; the schemas give its handler's parameters and result their types. */
export const operation = <
  const Path extends string,
  Q extends QueryShape = Record<never, never>,
  B extends z.ZodType | undefined = undefined,
  As extends Body['as'] = undefined,
  H extends string = never,
  A extends z.ZodType | null = null,
>(
  declared: TypedOperation<Path, Q, B, As, H, A>,
): Operation => declared as unknown as Operation

/** An operation at one of its paths. */
export interface OperationName {
  id: string
  path: string
}

/** The operation at each of its paths, its own first. */
export const namesOf = ({ id, path, aliases = [] }: Pick<Operation, 'id' | 'path' | 'aliases'>): OperationName[] => [
  { id, path },
  ...aliases,
]

/**
 * The operation whose answer is CSV: one of its own, so that the clients that generators make have one type for each. Null if there is none.
 */
export const csvNameOf = ({ id, path, csv }: Pick<Operation, 'id' | 'path' | 'csv'>): OperationName | null =>
  csv === undefined ? null : { id: `${id}_csv`, path: `${path}.csv` }
