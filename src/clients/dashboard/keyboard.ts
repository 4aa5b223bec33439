import { signal } from '@preact/signals'
import { invalidate } from './api/cache.ts'
import { basePath } from './api/client.ts'
import { copyText } from './copy-text.ts'
import { navigate, place } from './router.tsx'
import { sectionGroups } from './sections.ts'
import { shortcutsAreOn } from './shortcuts.ts'

/** What the keyboard opened over the page. */
export const overlay = signal<'find' | 'help' | null>(null)

/** How long after `g` a letter still means a page, ms. */
const patienceMs = 1_500
let goneAt = -Infinity
/** The rows of the list from which the current page was opened, for the previous and the next one. */
let listed: string[] = []

const actions: Record<string, () => void> = {
  '/': () => (overlay.value = 'find'),
  '?': () => (overlay.value = 'help'),
  j: () => focusRow(1),
  k: () => focusRow(-1),
  u: goBack,
  Escape: goBack,
  c: () => void copyId(),
  r: () => invalidate('/'),
  '[': () => openListed(-1),
  ']': () => openListed(1),
}

/** Listens for keys that do something by themselves; they do nothing in fields, dialogs and menus. */
export function startKeyboard(): void {
  document.addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === 'k') {
      event.preventDefault()
      overlay.value = 'find'
      return
    }
    if (!shortcutsAreOn.value || event.ctrlKey || event.metaKey || event.altKey || isTaken(event.target as Element)) return
    const act = keyAction(event.key)
    if (!act) return
    event.preventDefault()
    act()
  })
  // Before the click leads to another page.
  const noteList = ({ target }: Event): void => {
    if ((target as Element).closest('main a.row')) listed = rows().map(hrefOf)
  }
  document.addEventListener('click', noteList, { capture: true })
}

function keyAction(key: string): (() => void) | undefined {
  const isPage = performance.now() - goneAt < patienceMs
  goneAt = key === 'g' ? performance.now() : -Infinity
  if (!isPage) return Object.hasOwn(actions, key) ? actions[key] : undefined
  const section = sectionGroups()
    .flatMap(({ sections }) => sections)
    .find(({ letter }) => letter === key)
  return section && (() => navigate(section.href))
}

/** True where the key belongs to what has the focus. */
const isTaken = (target: Element): boolean =>
  target.closest('input, textarea, select, dialog, [popover]:popover-open, [contenteditable], [role=tablist]') !== null

const rows = (): HTMLAnchorElement[] => Array.from(document.querySelectorAll<HTMLAnchorElement>('main a.row'))
const hrefOf = (row: HTMLAnchorElement): string => (row.getAttribute('href') ?? '').slice(basePath.length)

function focusRow(step: number): void {
  const all = rows()
  const current = all.indexOf(document.activeElement as HTMLAnchorElement)
  const next = current === -1 ? (step > 0 ? 0 : all.length - 1) : current + step
  all[Math.min(Math.max(next, 0), all.length - 1)]?.focus()
}

/** To the list that the page belongs to. */
function goBack(): void {
  document.querySelector<HTMLAnchorElement>('main .crumb a')?.click()
}

function openListed(step: number): void {
  const { path, query } = place.value
  const current = listed.findIndex((href) => href.split('?')[0] === path || href === `${path}?${query}`)
  const next = current === -1 ? undefined : listed[current + step]
  if (next !== undefined) navigate(next, { replace: true })
}

/** The id or the name at the end of the page's path. */
async function copyId(): Promise<void> {
  const [, section, id] = place.value.path.split('/')
  if (section !== undefined && id !== undefined) await copyText(decodeURIComponent(id))
}
