import { Readable } from 'node:stream'
import { z } from 'zod'
import { SternaError, type CheckParams } from '../../../platform/errors.ts'
import { isId } from '../../../platform/id.ts'
import type { SuppressionFilter, SuppressionRow, SuppressionEntries } from '../../../mail/suppression/suppression-entries.ts'
import { suppressionOrigins, type SuppressionOrigin } from '../../../mail/suppression/suppression-origin.ts'
import { parsePasted } from '../../../platform/smtp/mailbox.ts'
import { addressField } from '../../operation/address-field.ts'
import { csvLine, csvText, guardOf, spreadsheetParameter } from '../../operation/csv.ts'
import { listOperation } from '../../operation/list-operation.ts'
import { RawAnswer } from '../../operation/raw-answer.ts'
import { operation, type Operation } from '../../operation/operation.ts'
import { choiceParameter, textParameter } from '../../operation/query.ts'
import { referenceTo, resource, time, timeOrNull } from '../../operation/resource.ts'

interface SuppressionServices {
  suppressions: SuppressionEntries
}

/** The most entries that one request adds or removes. */
const maxAtOnce = 1000
/** bytes; so many addresses of the greatest length */
const bodyLimit = 512 * 1024

const address = addressField
  .transform((parsed) => parsed.address)
  .meta({ description: 'An address, with or without a name. Upper and lower case do not matter.' })

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
  email: [z.string().describe('In lower case.'), 'address'],
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
export const suppressionOperations = (services: SuppressionServices): Operation[] => [
  ...additionOperations(services),
  ...readingOperations(services),
  ...removalOperations(services),
]

const additionOperations = (services: SuppressionServices): Operation[] => [
  operation({
    id: 'suppressions.create',
    method: 'POST',
    path: '/api/suppressions',
    tag: 'Suppressions',
    summary: 'Suppress an address, or several',
    description: 'Mail to the address is accepted but not sent: its recipient is `suppressed`. Adding an address again changes nothing.',
    permission: 'full_access',
    sandbox: true,
    body: { schema: additionRequest, limit: bodyLimit, example: { email: 'ann@example.com' } },
    answers: [
      { status: 201, description: 'The entry; with `emails`, one for each, in the same order.', schema: z.union([reference, references]) },
    ],
    handle: async ({ caller, body }) => {
      const wanted = body.emails ?? [body.email!]
      const data = (await services.suppressions.add(caller, wanted, { reason: body.reason ?? null })).map(referenceOf)
      return body.emails ? { data } : data[0]!
    },
  }),
  operation({
    id: 'suppressions.create_batch',
    method: 'POST',
    path: '/api/suppressions/batch/add',
    tag: 'Suppressions',
    summary: 'Suppress many addresses',
    permission: 'full_access',
    sandbox: true,
    body: { schema: batchAdditionRequest, limit: bodyLimit, example: { emails: ['ann@example.com', 'bob@example.com'] } },
    answers: [{ status: 201, description: 'An entry for each address, in the same order.', schema: references }],
    handle: async ({ caller, body }) => ({
      data: (await services.suppressions.add(caller, body.emails, { reason: body.reason ?? null })).map(referenceOf),
    }),
  }),
]

const readingOperations = (services: SuppressionServices): Operation[] => [
  listOperation({
    id: 'suppressions.list',
    path: '/api/suppressions',
    tag: 'Suppressions',
    summary: 'List suppressions',
    permission: 'read_access',
    query: filters,
    of: suppression,
    answer: 'A page of suppressions, newest first.',
    rows: ({ caller, query }, page) => services.suppressions.page(caller, filterOf(query), page),
  }),
  operation({
    id: 'suppressions.export',
    method: 'GET',
    path: '/api/suppressions.csv',
    tag: 'Suppressions',
    summary: 'Download all suppressions as CSV',
    description:
      'However many there are, newest first; the columns are the fields of a suppression. `sterna import suppressions --from sterna` reads ' +
      'what this writes.',
    permission: 'read_access',
    query: { ...filters, spreadsheet: spreadsheetParameter },
    answers: [{ status: 200, description: 'The entries, as a download.', schema: null, mediaType: 'text/csv' }],
    handle: ({ caller, query }) => {
      const rows = Readable.from(csvOf(services.suppressions.all(caller, filterOf(query)), query), { objectMode: false })
      return new RawAnswer(rows, { type: 'text/csv; charset=utf-8', filename: 'suppressions.csv' })
    },
  }),
  operation({
    id: 'suppressions.get',
    method: 'GET',
    path: '/api/suppressions/{idOrEmail}',
    tag: 'Suppressions',
    summary: 'Read a suppression',
    description: 'By id or address. For an address with several entries, the one that stops the most mail.',
    permission: 'read_access',
    answers: [{ status: 200, description: 'The entry.', schema: suppression.schema }],
    handle: async ({ caller, params }) => {
      const row = await services.suppressions.find(caller, params.idOrEmail)
      if (!row) throw notListed()
      return suppression.answer(row)
    },
  }),
]

const removalOperations = (services: SuppressionServices): Operation[] => [
  operation({
    id: 'suppressions.delete',
    method: 'DELETE',
    path: '/api/suppressions/{idOrEmail}',
    tag: 'Suppressions',
    summary: 'Remove a suppression',
    description: 'By id, or by address, which removes all entries of the address. From then on mail is sent to it again.',
    permission: 'full_access',
    sandbox: true,
    answers: [{ status: 200, description: 'The suppression is removed.', schema: removed }],
    handle: async ({ caller, params }) => {
      const id = await services.suppressions.remove(caller, params.idOrEmail)
      if (id === undefined) throw notListed()
      return removedObject(id)
    },
  }),
  operation({
    id: 'suppressions.delete_batch',
    method: 'POST',
    path: '/api/suppressions/batch/remove',
    tag: 'Suppressions',
    summary: 'Remove many suppressions',
    description: 'By address or by id. Those that are not on the list are left out of the response.',
    permission: 'full_access',
    sandbox: true,
    body: { schema: batchRemovalRequest, limit: bodyLimit, example: { emails: ['ann@example.com'] } },
    answers: [{ status: 200, description: 'The entries that were removed.', schema: z.object({ data: z.array(removed) }) }],
    handle: async ({ caller, body }) => ({
      data: (await services.suppressions.removeAll(caller, body.emails ?? body.ids!.filter((id) => isId('sup', id)))).map(removedObject),
    }),
  }),
]

interface AskedFilter {
  origin: SuppressionOrigin | null
  email: string | null
}

const filterOf = ({ origin, email }: AskedFilter): SuppressionFilter => ({
  origins: origin === null ? undefined : [origin],
  begins: email === null ? undefined : beginningIn(email),
})

/** A pasted address without its name, or the beginning of one. */
function beginningIn(text: string): string {
  const pasted = parsePasted(text)
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
