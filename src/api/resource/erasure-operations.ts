import { z } from 'zod'
import { erasedThings } from '../../upkeep/erasure/erasing.ts'
import type { Erasure } from '../../upkeep/erasure/erasures.ts'
import { SternaError } from '../../platform/errors.ts'
import { addressField } from './address-field.ts'
import { requirePermission, visibleAccount } from '../operation/caller.ts'
import type { Operation } from '../operation/operation.ts'
import { operationsAt } from '../operation/operations-at.ts'
import { resource, time, timeOrNull } from '../operation/resource.ts'
import type { Needs } from './operation-services.ts'

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
  left: z
    .string()
    .nullable()
    .describe(
      'What is left once it is done, and what to do about that: bytes, where the database is on a server. Null if all is overwritten.',
    ),
})

const whatItDoes = `Erases a recipient from the data of the account. Cancels mail that waits for the address. Removes the content of emails to it; if
others still wait for the same email, as soon as they no longer do. Removes attempts and webhook posts. In what stays (emails, recipients,
events, reports), an address at \`erased.invalid\` replaces it, always the same one. Suppressions remain in effect, without revealing whom
they suppress. A sandbox key erases only in the sandbox. The response comes at once; read the erasure until its \`status\` is \`done\`.
Backups are not changed.`

const at = operationsAt({ path: '/api/erasures', tag: 'Erasures', permission: 'full_access', sandbox: true })

/** `/api/erasures` */
export const erasureOperations = (services: Needs<'erasures'>): Operation[] => [
  at.post('erasures.create', '', 'Erase an address', {
    description: whatItDoes,
    body: { schema: erasureRequest, example: { email: 'ann@example.com' } },
    answer: ['The erasure is running.', erasure.schema, 202],
    handle: async ({ caller, body: { email, everywhere = false } }) => {
      if (everywhere) requirePermission(caller, 'operator')
      const { accountId, sandbox } = caller
      return erasure.answer(await services.erasures.begin(email, { accountId: everywhere ? null : accountId, sandboxOnly: sandbox }))
    },
  }),
  at.list('erasures.list', '', 'List erasures', {
    description: 'With the permission `operator` all of them, else those of the account. They do not tell the addresses.',
    answer: ['A page of erasures, newest first.', erasure],
    rows: ({ caller }, page) => services.erasures.page(visibleAccount(caller), page),
  }),
  at.get('erasures.get', '/{id}', 'Read an erasure', {
    answer: ['What has been erased so far.', erasure.schema],
    handle: async ({ caller, params }) => {
      const found = await services.erasures.find(params.id, visibleAccount(caller))
      if (found) return erasure.answer(found)
      throw new SternaError('not_found', 'There is no such erasure.')
    },
  }),
]
