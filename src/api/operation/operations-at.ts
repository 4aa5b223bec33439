import type { z } from 'zod'
import type { Right } from '../../senders/account/permission.ts'
import type { Page } from '../../platform/store/page-clause.ts'
import type { Body, Call } from './call.ts'
import { operation, type Answer, type NamesIn, type Operation, type QueryValues, type TypedOperation } from './operation.ts'
import { listBody, listOf, pageOf, pageParameters } from './page.ts'
import type { QueryShape } from './query.ts'

/** What the operations at a path have in common. */
interface OperationGroup<Base extends string, GroupHeader extends string> {
  path: Base
  tag: string
  /** What their callers must be allowed to do; two where reading requires less than changing. */
  permission: Right | null | { read: Right | null; change: Right | null }
  /** Of those that change something: as of an operation. */
  sandbox?: true | 'only'
  /** The header fields that each of them reads, in lower case. */
  headers?: readonly GroupHeader[]
}

/** What an operation says itself, beside its id, its path below that of the group, and its summary. */
type Declared<Path extends string, Q, B, As, H extends string, A> = Omit<
  TypedOperation<Path, Q, B, As, H, A>,
  'id' | 'method' | 'path' | 'tag' | 'summary' | 'permission' | 'answers' | 'headers'
> & {
  /** In place of that of the group. */
  permission?: Right | null
  headers?: readonly H[]
  /** What the usual answer is, its schema (or, of what is no JSON, its media type), and its status if it is not 200. */
  answer: readonly [description: string, shown: A, status?: number]
  otherAnswers?: readonly Answer[]
}

interface DeclaredList<Path extends string, Row, S extends z.ZodType, Q> extends Pick<Operation, 'description' | 'refuses' | 'aliases'> {
  permission?: Right | null
  /** Filters, in addition to the parameters of every page. */
  query?: Q
  /** What the entries are, in which order, and how one is shown. */
  answer: readonly [description: string, of: { schema: S; answer(row: Row): z.input<S> }]
  /** The rows of a page, from a query with `pageClause`. */
  rows(call: Call<NamesIn<Path>, QueryValues<Q>, undefined>, page: Page): Row[] | Promise<Row[]>
}

/**
 * Declares the operations at a path, each by its id, its path below, and a summary of a few words. `list` declares one that lists a
 * resource page by page.
 */
export function operationsAt<const Base extends string, const GroupHeader extends string = never>(
  group: OperationGroup<Base, GroupHeader>,
) {
  const by =
    (method: Operation['method']) =>
    <
      const Below extends string,
      Q extends QueryShape = Record<never, never>,
      B extends z.ZodType | undefined = undefined,
      As extends Body['as'] = undefined,
      H extends string = never,
      A extends z.ZodType | string = string,
    >(
      id: string,
      below: Below,
      summary: string,
      { answer, otherAnswers = [], ...declared }: Declared<`${Base}${Below}`, Q, B, As, H | GroupHeader, A>,
    ): Operation => {
      const own = { id, path: `${group.path}${below}`, summary, answers: [answerOf(answer), ...otherAnswers] }
      return operation({ ...commonTo(group, method), ...declared, ...own } as never)
    }
  const get = by('GET')
  const list = <const Below extends string, Row, S extends z.ZodType, Q extends QueryShape = Record<never, never>>(
    id: string,
    below: Below,
    summary: string,
    declared: DeclaredList<`${Base}${Below}`, Row, S, Q>,
  ): Operation => get(id, below, summary, pageByPage(declared) as never)
  return { get, list, post: by('POST'), patch: by('PATCH'), remove: by('DELETE') }
}

function commonTo({ tag, permission, sandbox, headers }: OperationGroup<string, string>, method: Operation['method']) {
  const isRead = method === 'GET'
  const isSplit = typeof permission === 'object' && permission !== null
  return {
    tag,
    method,
    permission: isSplit ? permission[isRead ? 'read' : 'change'] : permission,
    ...(isRead || sandbox === undefined ? {} : { sandbox }),
    ...(headers ? { headers } : {}),
  }
}

const answerOf = ([description, shown, status = 200]: readonly [string, z.ZodType | string, number?]): Answer =>
  typeof shown === 'string' ? { status, description, schema: null, mediaType: shown } : { status, description, schema: shown }

const pageByPage = <Path extends string, Row, S extends z.ZodType, Q extends QueryShape>({
  query,
  answer: [description, of],
  rows,
  ...declared
}: DeclaredList<Path, Row, S, Q>) => ({
  ...declared,
  query: { ...pageParameters, ...query },
  answer: [description, listOf(of.schema)],
  handle: async (call: Call<NamesIn<Path>, QueryValues<typeof pageParameters> & QueryValues<Q>, undefined>) => {
    const page = pageOf(call.query)
    return listBody(await rows(call, page), page, (row) => of.answer(row))
  },
})
