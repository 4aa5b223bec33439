import { z } from 'zod'
import { erasedThings } from '../../../upkeep/erasure/erasing.ts'
import type { Erasure, Erasures } from '../../../upkeep/erasure/erasures.ts'
import { SternaError } from '../../../platform/errors.ts'
import { addressField } from '../../operation/address-field.ts'
import { requirePermission, visibleAccount } from '../../operation/caller.ts'
import { listOperation } from '../../operation/list-operation.ts'
import { operation, type Operation } from '../../operation/operation.ts'
import { resource, time, timeOrNull } from '../../operation/resource.ts'

export interface ErasureServices {
  erasures: Erasures
}

const erasureRequest = z.object({
  email: addressField.meta({ description: 'An address, with or without a name. Upper and lower case do not matter.' }),
  everywhere: z.boolean().optional().describe("Erases in all accounts, and in the server's own data; requires the permission `operator`."),
})

/** An erasure as the API and the command line show it. */
export const erasure = resource<Erasure>('Erasure')({
  object: 'erasure',
  id: z.string(),
  status: [z.enum(['running', 'done']), ({ finishedAt }) => (finishedAt === null ? 'running' : 'done')],
  account_id: z.string().nullable().describe('The account whose data is erased; null means all accounts.'),
  erased: [
    z
      .object(Object.fromEntries(erasedThings.map((thing) => [thing, z.int()])) as Record<(typeof erasedThings)[number], z.ZodInt>)
      .describe('How much of each was erased. `contents_waiting` is removed once nobody else waits for those emails.'),
    'counts',
  ],
  created_at: time(),
  finished_at: timeOrNull(),
})

const whatItDoes = `Erases a recipient from the data of the account. Cancels mail that waits for the address. Removes the content of emails to it; if
others still wait for the same email, as soon as they no longer do. Removes attempts and webhook posts. In what stays (emails, recipients,
events, reports), an address at \`erased.invalid\` replaces it, always the same one. Suppressions remain in effect, without revealing whom
they suppress. A sandbox key erases only in the sandbox. The response comes at once; read the erasure until its \`status\` is \`done\`.
Backups are not changed.`

/** `/api/erasures` */
export const erasureOperations = (services: ErasureServices): Operation[] => [
  operation({
    id: 'erasures.create',
    method: 'POST',
    path: '/api/erasures',
    tag: 'Erasures',
    summary: 'Erase an address',
    description: whatItDoes,
    permission: 'full_access',
    sandbox: true,
    body: { schema: erasureRequest, example: { email: 'ann@example.com' } },
    answers: [{ status: 202, description: 'The erasure is running.', schema: erasure.schema }],
    handle: async ({ caller, body: { email, everywhere = false } }) => {
      if (everywhere) requirePermission(caller, 'operator')
      const { accountId, sandbox } = caller
      return erasure.answer(await services.erasures.begin(email, { accountId: everywhere ? null : accountId, sandboxOnly: sandbox }))
    },
  }),
  listOperation({
    id: 'erasures.list',
    path: '/api/erasures',
    tag: 'Erasures',
    summary: 'List erasures',
    description: 'With the permission `operator` all of them, else those of the account. They do not tell the addresses.',
    permission: 'full_access',
    of: erasure,
    answer: 'A page of erasures, newest first.',
    rows: ({ caller }, page) => services.erasures.page(visibleAccount(caller), page),
  }),
  operation({
    id: 'erasures.get',
    method: 'GET',
    path: '/api/erasures/{id}',
    tag: 'Erasures',
    summary: 'Read an erasure',
    permission: 'full_access',
    answers: [{ status: 200, description: 'What has been erased so far.', schema: erasure.schema }],
    handle: async ({ caller, params }) => {
      const found = await services.erasures.find(params.id, visibleAccount(caller))
      if (found) return erasure.answer(found)
      throw new SternaError('not_found', 'There is no such erasure.')
    },
  }),
]
