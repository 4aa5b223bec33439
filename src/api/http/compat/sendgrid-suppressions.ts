import { z } from 'zod'
import { SternaError } from '../../../platform/errors.ts'
import type { SuppressionFilter } from '../../../mail/suppression/suppression-entries.ts'
import type { SuppressionRow } from '../../../mail/suppression/suppression-list.ts'
import type { ApiContext } from '../api-state.ts'
import { jsonBody } from '../json-body.ts'
import { validate } from '../../operation/validate.ts'
import { reads, changes, type CompatAction, type CompatServices } from './compat-api.ts'
import { listOf } from './compat-schema.ts'
import { addressIn, queryNumber } from './query-values.ts'

type SendGridListServices = Pick<CompatServices, 'suppressions'>

const maxListed = 500
/** A million entries are two thousand requests. */
const furthest = 1_000_000
const bodyBytes = 256 * 1024

/**
 * What each list has of ours; null: nothing. Who is on the list of unsubscribes gets no mail at SendGrid, so an address that is put
 * there is a manual entry here.
 */
const lists: Record<string, SuppressionFilter | null> = {
  bounces: { origins: ['bounce'] },
  spam_reports: { origins: ['complaint'] },
  unsubscribes: { origins: ['manual', 'unsubscribe'], topic: '' },
  // What was refused for a time is not suppressed, and an address that does not exist is a bounce.
  blocks: null,
  invalid_emails: null,
}

const removal = z.looseObject({ delete_all: z.boolean().optional(), emails: listOf(z.string().max(1000)).optional() })
const addition = z.looseObject({ recipient_emails: listOf(z.string().max(1000)) })

/** `/v3/suppression/…` and `/v3/asm/…/suppressions`: lists, entries, and their removal; additions to the lists of unsubscribes. */
export const sendGridSuppressionActions = (services: SendGridListServices): CompatAction[] => [
  ...Object.entries(lists).flatMap(([name, filter]) => listActions(name, filter, services)),
  ...asmActions('/v3/asm/suppressions/global', () => lists['unsubscribes'] as SuppressionFilter, services),
  ...asmActions('/v3/asm/groups/{group}/suppressions', ofGroup, services),
  reads('/v3/asm/groups/{group}/suppressions', async (ctx) => (await pageOf(ctx, ofGroup(ctx), services)).map(({ address }) => address)),
]

function listActions(name: string, filter: SuppressionFilter | null, services: SendGridListServices): CompatAction[] {
  const path = `/v3/suppression/${name}`
  const { suppressions } = services
  const rows = async (ctx: ApiContext) => (filter === null ? [] : (await pageOf(ctx, filter, services)).map(entryOf(name)))
  const named = async (ctx: ApiContext, of: SuppressionFilter) =>
    suppressions.page(ctx.state.caller, { ...of, address: addressOf(ctx) }, onePage)
  return [
    reads(path, rows),
    reads(`${path}/{email}`, async (ctx) => (filter === null ? [] : (await named(ctx, filter)).slice(0, 1).map(entryOf(name)))),
    changes('DELETE', path, async (ctx) => {
      const { delete_all: all, emails } = validate(removal, await jsonBody(ctx.req, { limit: bodyBytes }))
      if (all !== true && !emails) throw new SternaError('validation_error', 'Give either `delete_all` or `emails`.')
      const filters = all === true ? [{}] : (emails ?? []).map((email) => ({ address: addressIn(email, 'emails') }))
      if (filter !== null) for (const one of filters) await suppressions.removeFound(ctx.state.caller, { ...filter, ...one })
      return null
    }),
    changes('DELETE', `${path}/{email}`, (ctx) => removeOne(ctx, filter, services)),
  ]
}

function asmActions(path: string, filterOf: (ctx: ApiContext) => SuppressionFilter, services: SendGridListServices): CompatAction[] {
  const { suppressions } = services
  return [
    {
      method: 'POST',
      path,
      permission: 'full_access',
      status: 201,
      handle: async (ctx) => {
        const { origins, topic = '' } = filterOf(ctx)
        const { recipient_emails: emails } = validate(addition, await jsonBody(ctx.req, { limit: bodyBytes }))
        const addresses = emails.map((email) => addressIn(email, 'recipient_emails'))
        const origin = origins?.[0] ?? 'manual'
        await suppressions.add(ctx.state.caller, addresses, { reason: null, origin, topic: origin === 'unsubscribe' ? topic : '' })
        return { recipient_emails: emails }
      },
    },
    reads(`${path}/{email}`, async (ctx) => {
      const [entry] = await suppressions.page(ctx.state.caller, { ...filterOf(ctx), address: addressOf(ctx) }, onePage)
      return entry ? { recipient_email: entry.address } : {}
    }),
    changes('DELETE', `${path}/{email}`, (ctx) => removeOne(ctx, filterOf(ctx), services)),
  ]
}

const onePage = { limit: 1, after: null, before: null }

const addressOf = ({ params }: ApiContext): string => addressIn(params.email ?? '', 'email')

/** A group is a topic. */
function ofGroup({ params: { group = '' } }: ApiContext): SuppressionFilter {
  if (/^\d{1,9}$/.test(group)) return { origins: ['unsubscribe'], topic: group }
  throw new SternaError('not_found', 'There is no such group.')
}

async function removeOne(ctx: ApiContext, filter: SuppressionFilter | null, { suppressions }: SendGridListServices): Promise<null> {
  const address = addressOf(ctx)
  const count = filter === null ? 0 : await suppressions.removeFound(ctx.state.caller, { ...filter, address })
  if (count === 0) throw new SternaError('not_found', 'The address is not on this list.')
  return null
}

async function pageOf(ctx: ApiContext, filter: SuppressionFilter, { suppressions }: SendGridListServices): Promise<SuppressionRow[]> {
  const limit = queryNumber(ctx, 'limit', { usual: maxListed, least: 1, most: maxListed })
  const offset = queryNumber(ctx, 'offset', { usual: 0, least: 0, most: furthest })
  const [since, until] = ['start_time', 'end_time'].map((name) => queryNumber(ctx, name, { usual: -1, least: 0, most: 1e11 }))
  const times = { since: secondsOf(since), until: secondsOf(until) }
  const rows: SuppressionRow[] = []
  let place = 0
  for await (const row of suppressions.all(ctx.state.caller, { ...filter, ...times })) {
    if (place++ >= offset) rows.push(row)
    if (rows.length === limit) break
  }
  return rows
}

const secondsOf = (value = -1): number | null => (value < 0 ? null : value * 1000)

const entryOf =
  (list: string) =>
  ({ address, reason, created_at: createdAt }: SuppressionRow): object => ({
    created: Math.floor(createdAt / 1000),
    email: address,
    ...(list === 'bounces' ? { reason: reason ?? '', status: /\b[45]\.\d{1,3}\.\d{1,3}\b/.exec(reason ?? '')?.[0] ?? '' } : {}),
    ...(list === 'spam_reports' ? { ip: '' } : {}),
  })
