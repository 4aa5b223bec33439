import type { Domain, TemplateItem } from './api/types.ts'
import type { IconName } from './parts/icon.tsx'
import { mayChange } from './rights.ts'
import { sectionGroups } from './sections.ts'
import { t } from './texts/texts.ts'

export interface Hit {
  href: string
  icon: IconName
  text: string
}

/** Where an id belongs, as the API says. */
export interface Found {
  id: string
  email_id: string | null
  webhook_id: string | null
  delivery_id: string | null
}

const maxHits = 12
const anyId = /^([a-z]+)_([a-z0-9]{26})$/i
/** Where the object of an id is shown, by the prefix of the id. */
const pagesOfIds: Record<string, (id: string) => Hit[]> = {
  em: (id) => [{ href: `/emails/${id}`, icon: 'mail', text: t.find.email(id) }],
  wh: (id) => [{ href: `/webhooks/${id}`, icon: 'hook', text: t.find.webhook(id) }],
  tpl: (id) => [{ href: `/templates/${id}`, icon: 'tpl', text: t.find.template(id) }],
  dom: (id) => [{ href: `/domains/${id}`, icon: 'globe', text: t.find.domain(id) }],
  req: requestHits,
}

/** The id that the API has to be asked about; null where the text is none. */
export function idToAsk(text: string): string | null {
  const prefix = anyId.exec(text)?.[1]?.toLowerCase()
  return ['rcp', 'att', 'evt', 'rep', 'whd', 'wha'].some((asked) => asked === prefix) ? text.toLowerCase() : null
}

/** What a text means: an id, a Message-ID, an address, or a word of a subject, a page, a domain or a template. */
export function hitsFor(
  text: string,
  { domains, templates, found }: { domains: Domain[]; templates: TemplateItem[]; found: Found | null },
): Hit[] {
  const pages = sectionGroups().flatMap(({ sections }) => sections)
  if (text === '') return pages.slice(0, maxHits)
  const prefix = anyId.exec(text)?.[1]?.toLowerCase() ?? ''
  if (Object.hasOwn(pagesOfIds, prefix)) return pagesOfIds[prefix]?.(text.toLowerCase()) ?? []
  if (idToAsk(text) !== null) return found === null ? [] : foundHits(found)
  const word = text.toLowerCase()
  const named = [
    ...pages,
    ...domains.map(({ name }): Hit => ({ href: `/domains/${name}`, icon: 'globe', text: name })),
    ...templates.map(({ id, alias, name }): Hit => ({ href: `/templates/${alias ?? id}`, icon: 'tpl', text: name })),
  ].filter((hit) => hit.text.toLowerCase().includes(word))
  return [...named.slice(0, maxHits), ...mailHits(text)]
}

const mail = (filter: Record<string, string>, words: string): Hit => ({
  href: `/emails?${new URLSearchParams(filter)}`,
  icon: 'mail',
  text: words,
})

/** As programs write it: in brackets without a name, or with a long random part before the @. */
const messageId = /^<[^<>\s]+@[^<>\s]+>$|^(?=\S*\d)[^\s@<>"]{16,}@[^\s@<>"]+$/

function mailHits(text: string): Hit[] {
  const address = [mail({ to: text }, t.find.emailsTo(text)), mail({ from: text }, t.find.emailsFrom(text))]
  const subject = mail({ subject: text }, t.find.emailsAbout(text))
  if (messageId.test(text)) return [mail({ message_id: text }, t.find.emailOfMessageId(text)), ...(text.startsWith('<') ? [] : address)]
  if (text.includes('@')) return [...address, subject]
  return text.length < 2 ? [] : [subject, ...(/\s/.test(text) ? [] : address)]
}

const foundHits = ({ id, email_id: emailId, webhook_id: webhookId, delivery_id: deliveryId }: Found): Hit[] => [
  ...(emailId === null ? [] : [{ href: `/emails/${emailId}`, icon: 'mail' as const, text: t.find.emailOf(id) }]),
  ...(webhookId === null || deliveryId === null
    ? []
    : [{ href: `/webhooks/${webhookId}/deliveries/${deliveryId}`, icon: 'hook' as const, text: t.find.delivery(deliveryId) }]),
]

/** How long after the beginning of a request what it sends is accepted, ms. */
const acceptedWithinMs = 2_000

/** An id begins with its time, in Crockford's base 32. */
function requestHits(id: string): Hit[] {
  const at = Array.from(id.slice(4, 14)).reduce((sum, letter) => sum * 32 + '0123456789abcdefghjkmnpqrstvwxyz'.indexOf(letter), 0)
  const since = new Date(at).toISOString()
  const until = new Date(at + acceptedWithinMs).toISOString()
  return [
    mail({ since, until }, t.find.emailsAfter(id)),
    ...(mayChange() ? [{ href: `/people?view=audit&request_id=${id}`, icon: 'people' as const, text: t.find.changesOf(id) }] : []),
  ]
}
