import { useEffect, useRef, useState } from 'preact/hooks'
import { useAll } from './api/cache.ts'
import type { Domain, TemplateItem } from './api/types.ts'
import { overlay } from './keyboard.ts'
import { Icon, type IconName } from './parts/icon.tsx'
import { Link, navigate } from './router.tsx'
import { sectionGroups } from './sections.ts'
import { t } from './texts/texts.ts'

interface Hit {
  href: string
  icon: IconName
  text: string
}

const mostHits = 12
/** Where the object of an id is shown, by the prefix of the id. */
const pagesOfIds: Record<string, (id: string) => Hit> = {
  em: (id) => ({ href: `/emails/${id}`, icon: 'mail', text: t.find.email(id) }),
  wh: (id) => ({ href: `/webhooks/${id}`, icon: 'hook', text: t.find.webhook(id) }),
  tpl: (id) => ({ href: `/templates/${id}`, icon: 'tpl', text: t.find.template(id) }),
  dom: (id) => ({ href: `/domains/${id}`, icon: 'globe', text: t.find.domain(id) }),
}

/** Goes to what is typed: an id, an address, or a word in the name of a page, a domain or a template. */
export function Find() {
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState('')
  const domains = useAll<Domain>('/api/domains')
  const templates = useAll<TemplateItem>('/api/templates')
  useEffect(() => dialog.current?.showModal(), [])
  const hits = hitsFor(text.trim(), domains.data?.data ?? [], templates.data?.data ?? [])
  const close = (): void => void (overlay.value = null)
  const openFirst = (): void => {
    if (!hits[0]) return
    close()
    navigate(hits[0].href)
  }
  return (
    <dialog ref={dialog} aria-label={t.find.heading} onClose={close} onKeyDown={moveFocus}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          openFirst()
        }}
      >
        <input
          class="field"
          type="search"
          aria-label={t.find.heading}
          placeholder={t.find.hint}
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <p class="hidden" role="status">
          {t.find.hits(hits.length)}
        </p>
        {hits.length === 0 && <p class="muted">{t.find.nothing}</p>}
        <ul class="hits">
          {hits.map(({ href, icon, text: name }) => (
            <li key={href}>
              <Link href={href} onClick={close}>
                <Icon name={icon} />
                {name}
              </Link>
            </li>
          ))}
        </ul>
      </form>
    </dialog>
  )
}

/** The arrow keys go through the field and what was found. */
function moveFocus(event: KeyboardEvent): void {
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step === 0) return
  event.preventDefault()
  const stops = Array.from((event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('input, a'))
  const next = stops.indexOf(document.activeElement as HTMLElement) + step
  stops[Math.min(Math.max(next, 0), stops.length - 1)]?.focus()
}

function hitsFor(text: string, domains: Domain[], templates: TemplateItem[]): Hit[] {
  const pages = sectionGroups().flatMap(({ sections }) => sections)
  if (text === '') return pages.slice(0, mostHits)
  const prefix = /^([a-z]+)_[a-z0-9]{26}$/i.exec(text)?.[1]?.toLowerCase() ?? ''
  if (Object.hasOwn(pagesOfIds, prefix)) return [pagesOfIds[prefix]?.(text.toLowerCase())].filter((hit) => hit !== undefined)
  const word = text.toLowerCase()
  const named = [
    ...pages,
    ...domains.map(({ name }): Hit => ({ href: `/domains/${name}`, icon: 'globe', text: name })),
    ...templates.map(({ id, alias, name }): Hit => ({ href: `/templates/${alias ?? id}`, icon: 'tpl', text: name })),
  ].filter((hit) => hit.text.toLowerCase().includes(word))
  return [...(text.includes('@') ? [mailTo(text)] : []), ...named].slice(0, mostHits)
}

const mailTo = (address: string): Hit => ({
  href: `/emails?to=${encodeURIComponent(address)}`,
  icon: 'mail',
  text: t.find.emailsTo(address),
})
