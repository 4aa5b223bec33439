import { useState } from 'preact/hooks'
import { useApi, useRows } from './api/cache.ts'
import type { Domain, TemplateItem } from './api/types.ts'
import { hitsFor, idToAsk, type Found } from './find-hits.ts'
import { overlay } from './keyboard.ts'
import { useModal } from './parts/dialog.tsx'
import { Icon } from './parts/icon.tsx'
import { Link, navigate } from './router.tsx'
import { t } from './texts/texts.ts'

/** Goes to what is typed. */
export function Find() {
  const dialog = useModal()
  const [text, setText] = useState('')
  const domains = useRows<Domain>('/api/domains')
  const templates = useRows<TemplateItem>('/api/templates')
  const id = idToAsk(text.trim())
  const found = useApi<Found>(id === null ? null : `/api/find/${id}`)
  const hits = hitsFor(text.trim(), { domains, templates, found: found.error ? null : (found.data ?? null) })
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
