import { z } from 'zod'
import { erasedThings } from '../../erasure/erasing.ts'
import type { Erasure, Erasures } from '../../erasure/erasures.ts'
import { SternaError } from '../../errors.ts'
import { addressField } from '../address-field.ts'
import { requirePermission, visibleAccount } from '../api-state.ts'
import { listOperation } from '../list-operation.ts'
import { operation, type Operation } from '../operation.ts'
import { resource, time, timeOrNull } from '../resource.ts'

export interface ErasureServices {
  erasures: Erasures
}

const erasureRequest = z.object({
  email: addressField.meta({ description: 'A bare address. Its letters may be capitals or not.' }),
  everywhere: z.boolean().optional().describe("In the data of all accounts, and in the server's own; takes the permission `operator`."),
})

/** An erasure as the API and the command line show it. */
export const erasure = resource<Erasure>('Erasure')({
  object: 'erasure',
  id: z.string(),
  status: [z.enum(['running', 'done']), ({ finishedAt }) => (finishedAt === null ? 'running' : 'done')],
  account_id: z.string().nullable().describe('Whose data it is about; null: that of all accounts.'),
  erased: [
    z
      .object(Object.fromEntries(erasedThings.map((thing) => [thing, z.int()])) as Record<(typeof erasedThings)[number], z.ZodInt>)
      .describe('How much of each. `contents_waiting` goes when nobody else waits for those emails any more.'),
    'counts',
  ],
  created_at: time(),
  finished_at: timeOrNull(),
})

const whatItDoes = `Forgets a recipient in the data of the account. Mail that waits for the address is canceled. Content of emails to it is removed, or, where
others still wait for the same email, as soon as they do not. Attempts and posts to webhooks are removed; in what stays (emails, recipients,
events, reports) an address at \`erased.invalid\` stands in its place, always the same one. Suppressions go on, without telling whom they
suppress. With a sandbox key it is about the sandbox alone. The answer comes at once; ask for the erasure until its \`status\` is \`done\`.
Backups are not touched.`

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
    answers: [{ status: 202, description: 'It is under way.', schema: erasure.schema }],
    handle: async (ctx, { body: { email, everywhere = false } }) => {
      if (everywhere) requirePermission(ctx, 'operator')
      const { accountId, sandbox } = ctx.state.submitter
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
    answer: 'A page, newest first.',
    rows: (ctx, page) => services.erasures.page(visibleAccount(ctx), page),
  }),
  operation({
    id: 'erasures.get',
    method: 'GET',
    path: '/api/erasures/{id}',
    tag: 'Erasures',
    summary: 'Read an erasure',
    permission: 'full_access',
    answers: [{ status: 200, description: 'What has been erased so far.', schema: erasure.schema }],
    handle: async (ctx) => {
      const found = await services.erasures.find(ctx.params['id'] ?? '', visibleAccount(ctx))
      if (found) return erasure.answer(found)
      throw new SternaError('not_found', 'There is no such erasure.')
    },
  }),
]
