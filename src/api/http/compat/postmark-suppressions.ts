import { Readable } from 'node:stream'
import { z } from 'zod'
import { SternaError } from '../../../platform/errors.ts'
import { isoTime } from '../../../platform/iso-time.ts'
import { parsePasted } from '../../../platform/smtp/mailbox.ts'
import type { SuppressionFilter } from '../../../mail/suppression/suppression-entries.ts'
import type { SuppressionRow } from '../../../mail/suppression/suppression-list.ts'
import type { SuppressionOrigin } from '../../../mail/suppression/suppression-origin.ts'
import type { ApiContext } from '../api-state.ts'
import { jsonBody } from '../json-body.ts'
import { validate } from '../../operation/validate.ts'
import { reads, changes, type CompatAction, type CompatServices } from './compat-api.ts'
import { listOf } from './compat-schema.ts'
import { queryText, queryTime } from './query-values.ts'

/** Postmark takes so many in one request. */
const maxAtOnce = 50

const changed = z.looseObject({ Suppressions: listOf(z.looseObject({ EmailAddress: z.string().max(1000) }), maxAtOnce) })

/** Its words for why and by whom; whoever opts out does it by hand. */
const words: Record<SuppressionOrigin, { SuppressionReason: string; Origin: string }> = {
  bounce: { SuppressionReason: 'HardBounce', Origin: 'Recipient' },
  complaint: { SuppressionReason: 'SpamComplaint', Origin: 'Recipient' },
  unsubscribe: { SuppressionReason: 'ManualSuppression', Origin: 'Recipient' },
  manual: { SuppressionReason: 'ManualSuppression', Origin: 'Customer' },
}
const origins = Object.keys(words) as SuppressionOrigin[]

/**
 * `/message-streams/{stream}/suppressions`: the dump, additions and removals of the one stream. Of opt-outs it has those from mail
 * without a topic.
 */
export const postmarkSuppressionActions = ({ suppressions }: Pick<CompatServices, 'suppressions'>): CompatAction[] => {
  const change = (path: string, done: string, act: (ctx: ApiContext, address: string) => Promise<unknown>): CompatAction =>
    changes('POST', path, async (ctx) => {
      checkStream(ctx)
      const { Suppressions: asked } = validate(changed, await jsonBody(ctx.req, { limit: 256 * 1024 }))
      const answers: object[] = []
      for (const { EmailAddress } of asked) {
        const parsed = parsePasted(EmailAddress)
        if (parsed.ok) await act(ctx, parsed.address)
        answers.push({
          EmailAddress,
          Status: parsed.ok ? done : 'Failed',
          Message: parsed.ok ? null : 'An invalid email address was provided.',
        })
      }
      return { Suppressions: answers }
    })
  const path = '/message-streams/{stream}/suppressions'
  return [
    reads(`${path}/dump`, async (ctx) => dump(ctx, suppressions)),
    change(path, 'Suppressed', (ctx, address) => suppressions.add(ctx.state.caller, [address], { reason: null })),
    change(`${path}/delete`, 'Deleted', (ctx, address) => suppressions.removeFound(ctx.state.caller, { address, topic: '' })),
  ]
}

function checkStream({ params }: ApiContext): void {
  if (params.stream !== 'outbound') throw new SternaError('not_found', 'The message stream was not found: there is no other than outbound.')
}

/** All of them: it is written as it is read. */
function dump(ctx: ApiContext, suppressions: CompatServices['suppressions']): Readable {
  checkStream(ctx)
  const filter = filterOf(ctx)
  ctx.type = 'application/json; charset=utf-8'
  return Readable.from(
    (async function* () {
      let before = '{"Suppressions":['
      for await (const row of suppressions.all(ctx.state.caller, filter)) {
        yield before + JSON.stringify(entry(row))
        before = ','
      }
      yield before === ',' ? ']}' : `${before}]}`
    })(),
  )
}

function filterOf(ctx: ApiContext): SuppressionFilter {
  const [reason, origin] = [queryText(ctx, 'SuppressionReason'), queryText(ctx, 'Origin')]
  const wanted = origins.filter(
    (one) =>
      (reason ?? words[one].SuppressionReason) === words[one].SuppressionReason && (origin ?? words[one].Origin) === words[one].Origin,
  )
  const until = queryTime(ctx, 'todate')
  return {
    origins: wanted,
    topic: '',
    address: queryText(ctx, 'EmailAddress'),
    since: queryTime(ctx, 'fromdate'),
    // The day is included.
    until: until === null ? null : until + (queryText(ctx, 'todate')?.includes('T') ? 1 : 86_400_000),
  }
}

const entry = ({ address, origin, created_at: createdAt }: SuppressionRow) => ({
  EmailAddress: address,
  ...words[origin],
  CreatedAt: isoTime(createdAt),
})
