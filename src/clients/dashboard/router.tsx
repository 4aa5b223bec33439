import { signal } from '@preact/signals'
import type { ComponentProps, ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { basePath, loadSession, offline } from './api/client.ts'
import { t } from './texts/texts.ts'

/** Where the user is, below the base path. */
export interface Place {
  path: string
  query: URLSearchParams
}

export interface Route {
  /** With parameters: `/emails/:id`. */
  pattern: string
  /** Who may open it; everybody if not given. */
  only?: 'operators' | 'admins'
  /** Whether the page stays when its parameters change, instead of beginning anew. */
  stays?: true
  load(): Promise<{ default: ComponentType<PageProps> }>
}

export interface PageProps {
  params: Record<string, string>
  query: URLSearchParams
}

export const place = signal<Place>(currentPlace())

function currentPlace(): Place {
  const path = location.pathname.startsWith(basePath) ? location.pathname.slice(basePath.length) : location.pathname
  return { path: path === '' ? '/' : path, query: new URLSearchParams(location.search) }
}

/** How pages on the way here were left, by their paths: the entry of the history keeps it, also when it is loaded anew. */
type Trail = Record<string, { query: string; scroll: number }>
const maxKept = 8
const trail = (): Trail => (history.state as { trail?: Trail } | null)?.trail ?? {}

/** Goes to a page of the dashboard; `href` is below the base path. */
export function navigate(href: string, { replace = false }: { replace?: boolean } = {}): void {
  const kept = replace ? trail() : trailFrom(place.value)
  keepScroll()
  history[replace ? 'replaceState' : 'pushState']({ trail: kept }, '', basePath + href)
  place.value = currentPlace()
  if (!replace) scrollTo(0, 0)
}

function trailFrom({ path, query }: Place): Trail {
  const { [path]: _, ...others } = trail()
  return Object.fromEntries([...Object.entries(others), [path, { query: String(query), scroll: scrollY }]].slice(-maxKept)) as Trail
}

/** A page above this one, with the filters with which it was left. */
function hrefAbove(path: string): string {
  const { query = '' } = trail()[path] ?? {}
  return query === '' ? path : `${path}?${query}`
}

/** Goes to a page above this one, as it was left. */
function goAbove(path: string): void {
  const { scroll = 0 } = trail()[path] ?? {}
  navigate(hrefAbove(path))
  scrollOnceShown(scroll)
}

const patienceMs = 3_000

/** Lists that were seen before are there at once; others grow until the place is there. */
function scrollOnceShown(scroll: number): void {
  const shown = place.value
  const until = performance.now() + patienceMs
  const follow = (): void => {
    if (place.value !== shown) return
    scrollTo(0, scroll)
    if (scrollY < scroll - 1 && performance.now() < until) requestAnimationFrame(follow)
  }
  requestAnimationFrame(() => requestAnimationFrame(follow))
}

/** Changes parameters of the current page's query; null removes one. */
export function setQuery(changes: Record<string, string | null>): void {
  const { path, query } = place.value
  const next = new URLSearchParams(query)
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') next.delete(name)
    else next.set(name, value)
  }
  const text = next.toString()
  navigate(text === '' ? path : `${path}?${text}`, { replace: true })
}

function keepScroll(): void {
  history.replaceState({ ...history.state, scroll: scrollY }, '')
}

/** Follows the browser's own moves, and keeps clicks on links to pages from loading anew. */
export function startRouter(): void {
  history.scrollRestoration = 'manual'
  addEventListener('popstate', ({ state }) => {
    place.value = currentPlace()
    const { scroll = 0 } = (state ?? {}) as { scroll?: number }
    scrollOnceShown(scroll)
  })
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest('a')
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const above = link.dataset['above']
    const href = link.getAttribute('href') ?? ''
    if (link.target !== '' || link.hasAttribute('download') || !isPage(href)) return
    event.preventDefault()
    if (above === undefined) navigate(href.slice(basePath.length))
    else goAbove(above)
  })
}

/** Paths of the server that are no pages. */
const served = /^\/(?:docs|openapi\.json|api)(?:\/|$)/
const isPage = (href: string): boolean =>
  href.startsWith(`${basePath}/`) && !href.startsWith('//') && !served.test(href.slice(basePath.length))

/** A link to a page above this one, which shows it as it was left. */
export const LinkAbove = ({ path, text }: { path: string; text: string }) => (
  <a href={basePath + hrefAbove(path)} data-above={path}>
    {text}
  </a>
)

/** A link to a page; `href` is below the base path. */
export const Link = ({ href, ...others }: ComponentProps<'a'> & { href: string }) => <a href={basePath + href} {...others} />

interface Found {
  route: Route
  params: Record<string, string>
}

export function findRoute(routes: readonly Route[], path: string): Found | null {
  for (const route of routes) {
    const names: string[] = []
    const source = route.pattern.replace(/:(\w+)/g, (_, name: string) => {
      names.push(name)
      return '([^/]+)'
    })
    const match = new RegExp(`^${source}$`).exec(path)
    if (match) return { route, params: Object.fromEntries(names.map((name, index) => [name, decoded(match[index + 1] ?? '')])) }
  }
  return null
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

const loaded = new Map<Route, ComponentType<PageProps>>()

/** The page of a route, loaded when it is first needed. A newer server has other files: then the whole page is loaded anew. */
export function RoutePage({ route, params, query }: Found & { query: URLSearchParams }) {
  const [state, setState] = useState<'loading' | 'loaded' | 'away' | 'failed'>('loading')
  const Page = loaded.get(route)
  useEffect(() => {
    if (Page) return
    route.load().then(
      (module) => {
        loaded.set(route, module.default)
        setState('loaded')
      },
      // While the server is away, every page says so, and it is asked again until it is back.
      () =>
        loadSession().then(
          () => setState('failed'),
          () => setState('away'),
        ),
    )
  }, [route])
  // A browser may keep that a file could not be had.
  const isBack = state === 'away' && !offline.value
  useEffect(() => {
    if (isBack) location.reload()
  }, [isBack])
  if (Page) return <Page key={route.stays ? '' : JSON.stringify(params)} params={params} query={query} />
  if (state !== 'failed') return null
  return (
    <main class="page" id="main">
      <p role="alert">{t.notLoaded}</p>
      <p>
        <button class="btn" type="button" onClick={() => location.reload()}>
          {t.reload}
        </button>
      </p>
    </main>
  )
}
