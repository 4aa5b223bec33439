import type { AccountScope } from '../../../senders/account/account-scope.ts'
import { SternaError } from '../../../platform/errors.ts'
import { isId } from '../../../platform/id.ts'
import type { SuppressionFilter } from '../../../mail/suppression/suppression-entries.ts'
import type { SuppressionRow } from '../../../mail/suppression/suppression-list.ts'
import type { ApiContext } from '../api-state.ts'
import { reads, changes, type CompatAction, type CompatServices } from './compat-api.ts'
import { mailgunDomain } from './mailgun-domain.ts'
import { addressIn, queryNumber, queryText } from './query-values.ts'

type MailgunListServices = Pick<CompatServices, 'db' | 'eventFeed' | 'suppressions' | 'baseUrl' | 'verifiedDomainFor'>

interface MailgunList {
  filter: SuppressionFilter
  /** What Mailgun calls the addresses of the list. */
  title: string
  entry(row: SuppressionRow): object
}

/** The unsubscribes are those from everything (`*`) and from a topic, which Mailgun calls a tag. */
const lists: Record<string, MailgunList> = {
  bounces: {
    filter: { origins: ['bounce'] },
    title: 'Bounced addresses',
    entry: ({ reason }) => ({ code: codeIn(reason), error: reason ?? '' }),
  },
  complaints: { filter: { origins: ['complaint'] }, title: 'Complaint addresses', entry: () => ({}) },
  unsubscribes: {
    filter: { origins: ['manual', 'unsubscribe'] },
    title: 'Unsubscribe addresses',
    entry: ({ topic }) => ({ tags: [topic === '' ? '*' : topic] }),
  },
}

/**
 * `/v3/{domain}/bounces`, `/complaints` and `/unsubscribes`: the list in pages, an entry, and removal. The lists are those of the
 * account, whichever of its domains the path names.
 */
export const mailgunSuppressionActions = (services: MailgunListServices): CompatAction[] =>
  Object.entries(lists).flatMap(([name, list]) => actionsOf(name, list, services))

function actionsOf(name: string, { filter, title, entry }: MailgunList, services: MailgunListServices): CompatAction[] {
  const { suppressions } = services
  const path = `/v3/{domain}/${name}`
  const object = (row: SuppressionRow) => entryObject(row, entry)
  return [
    reads(path, async (ctx) => {
      const { rows, links } = await pageOf(ctx, { name, filter }, services)
      return { items: rows.map(object), paging: links }
    }),
    reads(`${path}/{address}`, async (ctx) => {
      mailgunDomain(ctx, services)
      const [row] = await suppressions.page(
        ctx.state.caller,
        { ...filter, address: addressOf(ctx) },
        { limit: 1, after: null, before: null },
      )
      if (!row) throw notListed(name)
      return object(row)
    }),
    changes('DELETE', path, async (ctx) => {
      await suppressions.removeFound(scopeOf(ctx, services), filter)
      return { message: `${title} for this domain have been removed` }
    }),
    changes('DELETE', `${path}/{address}`, async (ctx) => {
      const address = addressOf(ctx)
      if ((await suppressions.removeFound(scopeOf(ctx, services), { ...filter, address })) === 0) throw notListed(name)
      return { message: `${title} for this domain have been removed`, address }
    }),
  ]
}

const entryObject = (row: SuppressionRow, entry: MailgunList['entry']) => ({
  address: row.address,
  ...entry(row),
  created_at: new Date(row.created_at).toUTCString(),
})

const notListed = (name: string): SternaError => new SternaError('not_found', `Address not found in ${name} table`)

/** Whose lists, once the domain in the path is known to be theirs. */
function scopeOf(ctx: ApiContext, services: MailgunListServices): AccountScope {
  mailgunDomain(ctx, services)
  return ctx.state.caller
}

const addressOf = ({ params }: ApiContext): string => addressIn(params.address ?? '', 'address')

/** The last page is empty, as with Mailgun: its clients go on until then. */
async function pageOf(
  ctx: ApiContext,
  { name, filter }: { name: string; filter: SuppressionFilter },
  services: MailgunListServices,
): Promise<{ rows: SuppressionRow[]; links: Record<string, string> }> {
  const domain = mailgunDomain(ctx, services)
  const limit = queryNumber(ctx, 'limit', { usual: 100, least: 1, most: 1000 })
  const [direction, edge] = [queryText(ctx, 'page'), queryText(ctx, 'address')]
  const cursor = edge !== undefined && isId('sup', edge) ? edge : null
  const isBack = (direction === 'previous' && cursor !== null) || direction === 'last'
  const page = { limit, after: direction === 'next' ? cursor : null, before: isBack ? (cursor ?? idOfNone) : null }
  const found = (await services.suppressions.page(ctx.state.caller, filter, page)).slice(0, limit)
  const rows = isBack ? found.toReversed() : found
  const link = (to: string, id: string | undefined): string => {
    const query = new URLSearchParams({ page: to, ...(id === undefined ? {} : { address: id }), limit: String(limit) })
    return `${services.baseUrl.replace(/\/$/, '')}/compat/mailgun/v3/${domain}/${name}?${query}`
  }
  const [first, last] = [rows[0]?.id ?? cursor ?? undefined, rows.at(-1)?.id ?? cursor ?? undefined]
  return {
    rows,
    links: {
      first: link('first', undefined),
      next: link('next', last),
      previous: rows.length === 0 ? link('last', undefined) : link('previous', first),
      last: link('last', undefined),
    },
  }
}

/** Sorts before every id, which is the end of a list that has the newest first. */
const idOfNone = 'sup_'

/** Mailgun tells the code of a reply as a text. */
const codeIn = (reason: string | null): string => /\b[45]\d\d\b/.exec(reason ?? '')?.[0] ?? '550'
