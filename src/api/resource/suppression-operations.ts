import { Readable } from 'node:stream'
import { z } from 'zod'
import { SternaError, type CheckParams } from '../../platform/errors.ts'
import { isId } from '../../platform/id.ts'
import type { SuppressionFilter } from '../../mail/suppression/suppression-entries.ts'
import type { SuppressionRow } from '../../mail/suppression/suppression-list.ts'
import { suppressionOrigins } from '../../mail/suppression/suppression-origin.ts'
import { parseSuppressed } from '../../mail/suppression/suppression-address.ts'
import { csvLine, csvText, guardOf, spreadsheetParameter } from '../operation/csv.ts'
import { RawAnswer } from '../operation/raw-answer.ts'
import type { Operation, QueryValues } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { choiceParameter, textParameter } from '../operation/query.ts'
import { referenceTo, resource, time, timeOrNull } from '../operation/resource.ts'
import type { Needs } from './operation-services.ts'

type Services = Needs<'suppressions'>

/** The most entries that one request adds or removes. */
const maxAtOnce = 1000
/** bytes; so many addresses of the greatest length */
const bodyLimit = 512 * 1024

const address = z
  .string()
  .max(512)
  .transform((text, ctx) => {
    const parsed = parseSuppressed(text)
    if (parsed.ok) return parsed.address
    const params: CheckParams = { code: 'invalid_email', help: parsed.fault }
    ctx.addIssue({ code: 'custom', message: 'is not a valid email address, nor a domain like @example.com', params })
    return z.NEVER
  })
  .meta({
    description:
      'An address, with or without a name; `@example.com` stands for all addresses at that domain, but not at its subdomains. Upper and ' +
      'lower case do not matter.',
  })

const addresses = z.array(address).min(1).max(maxAtOnce)
const reason = z.string().max(1000).nullish().describe('For people: why this address must not get mail.')

const oneOf = (given: Record<string, unknown>, names: [string, string], ctx: z.RefinementCtx): boolean => {
  if (names.filter((name) => given[name] !== undefined).length === 1) return true
  const params: CheckParams = { code: 'exactly_one' }
  ctx.addIssue({ code: 'custom', path: [names[0]], message: `must be given, or \`${names[1]}\`, but not both`, params })
  return false
}

const additionRequest = z
  .object({ email: address.optional(), emails: addresses.optional(), reason })
  .superRefine((given, ctx) => void oneOf(given, ['email', 'emails'], ctx))
const batchAdditionRequest = z.object({ emails: addresses, reason })
const batchRemovalRequest = z
  .object({ emails: addresses.optional(), ids: z.array(z.string().max(100)).min(1).max(maxAtOnce).optional() })
  .superRefine((given, ctx) => void oneOf(given, ['emails', 'ids'], ctx))

/** An entry as the API and the command line show it. */
export const suppression = resource<SuppressionRow>('Suppression')({
  object: 'suppression',
  id: z.string(),
  email: [z.string().describe('In lower case; `@example.com` stands for all addresses at the domain.'), 'address'],
  origin: z
    .enum(suppressionOrigins)
    .describe('`unsubscribe` stops only mail that was sent with `unsubscribe`; the others stop every message.'),
  topic: [
    z.string().nullable().describe('For `unsubscribe`: the topic whose mail it stops; null for mail without a topic.'),
    ({ topic }) => (topic === '' ? null : topic),
  ],
  source_id: z.string().nullable().describe('The email that led to it.'),
  reason: z.string().nullable(),
  created_at: time(),
  expires_at: timeOrNull('From then on it counts no more; null: until it is removed.'),
})

const reference = referenceTo('suppression').meta({ id: 'SuppressionReference' })
const references = z.object({ data: z.array(reference) }).meta({ id: 'SuppressionReferences' })
const removed = reference.extend({ deleted: z.boolean() }).meta({ id: 'RemovedSuppression' })

const filters = {
  origin: choiceParameter(suppressionOrigins),
  email: textParameter.meta({
    description: 'Only addresses that begin with this; a whole one may have a name. Upper and lower case do not matter.',
  }),
}

/** `/api/suppressions` */
export const suppressionOperations = (services: Services): Operation[] => [
  at.post('suppressions.create', '', 'Suppress an address, or several', {
    description: 'Mail to the address is accepted but not sent: its recipient is `suppressed`. Adding an address again changes nothing.',
    body: { schema: additionRequest, limit: bodyLimit, example: { email: 'ann@example.com' } },
    answer: ['The entry; with `emails`, one for each, in the same order.', z.union([reference, references]), 201],
    handle: async ({ caller, body }) => {
      const wanted = body.emails ?? [body.email!]
      const data = (await services.suppressions.add(caller, wanted, { reason: body.reason ?? null })).map(referenceOf)
      return body.emails ? { data } : data[0]!
    },
  }),
  at.post('suppressions.create_batch', '/batch/add', 'Suppress many addresses', {
    body: { schema: batchAdditionRequest, limit: bodyLimit, example: { emails: ['ann@example.com', 'bob@example.com'] } },
    answer: ['An entry for each address, in the same order.', references, 201],
    handle: async ({ caller, body }) => ({
      data: (await services.suppressions.add(caller, body.emails, { reason: body.reason ?? null })).map(referenceOf),
    }),
  }),
  at.list('suppressions.list', '', 'List suppressions', {
    query: filters,
    answer: ['A page of suppressions, newest first.', suppression],
    rows: ({ caller, query }, page) => services.suppressions.page(caller, filterOf(query), page),
  }),
  at.get('suppressions.export', '.csv', 'Download all suppressions as CSV', {
    description:
      'However many there are, newest first; the columns are the fields of a suppression. `sterna import suppressions --from sterna` reads ' +
      'what this writes.',
    query: { ...filters, spreadsheet: spreadsheetParameter },
    answer: ['The entries, as a download.', 'text/csv'],
    handle: ({ caller, query }) => {
      const rows = Readable.from(csvOf(services.suppressions.all(caller, filterOf(query)), query), { objectMode: false })
      return new RawAnswer(rows, { type: 'text/csv; charset=utf-8', filename: 'suppressions.csv' })
    },
  }),
  at.get('suppressions.get', '/{idOrEmail}', 'Read a suppression', {
    description: 'By id or address. For an address with several entries, the one that stops the most mail.',
    answer: ['The entry.', suppression.schema],
    handle: async ({ caller, params }) => {
      const row = await services.suppressions.find(caller, params.idOrEmail)
      if (!row) throw notListed()
      return suppression.answer(row)
    },
  }),
  at.remove('suppressions.delete', '/{idOrEmail}', 'Remove a suppression', {
    description: 'By id, or by address, which removes all entries of the address. From then on mail is sent to it again.',
    answer: ['The suppression is removed.', removed],
    handle: async ({ caller, params }) => {
      const id = await services.suppressions.remove(caller, params.idOrEmail)
      if (id === undefined) throw notListed()
      return removedObject(id)
    },
  }),
  at.post('suppressions.delete_batch', '/batch/remove', 'Remove many suppressions', {
    description: 'By address or by id. Those that are not on the list are left out of the response.',
    body: { schema: batchRemovalRequest, limit: bodyLimit, example: { emails: ['ann@example.com'] } },
    answer: ['The entries that were removed.', z.object({ data: z.array(removed) })],
    handle: async ({ caller, body }) => ({
      data: (await services.suppressions.removeAll(caller, body.emails ?? body.ids!.filter((id) => isId('sup', id)))).map(removedObject),
    }),
  }),
]

const at = operationsAt({
  path: '/api/suppressions',
  tag: 'Suppressions',
  permission: { read: 'read_access', change: 'full_access' },
  sandbox: true,
})

const filterOf = ({ origin, email }: QueryValues<typeof filters>): SuppressionFilter => ({
  origins: origin === null ? undefined : [origin],
  begins: email === null ? undefined : beginningIn(email),
})

/** A pasted address without its name, or the beginning of one. */
function beginningIn(text: string): string {
  const pasted = parseSuppressed(text)
  return pasted.ok ? pasted.address : text.trim()
}

const columns = ['email', 'origin', 'topic', 'reason', 'source_id', 'created_at', 'expires_at'] as const

/** Written as it is read. */
async function* csvOf(rows: AsyncIterable<SuppressionRow>, query: { spreadsheet?: unknown }): AsyncGenerator<string> {
  yield csvText({ name: '', columns, rows: [] })
  for await (const row of rows) yield csvLine(columns, suppression.answer(row), guardOf(query))
}

const notListed = (): SternaError => new SternaError('not_found', 'There is no suppression with this id or address.')

const referenceOf = (id: string) => ({ object: 'suppression' as const, id })

const removedObject = (id: string) => ({ ...referenceOf(id), deleted: true })
