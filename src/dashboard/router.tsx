import { signal } from '@preact/signals'
import type { ComponentProps, ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { basePath } from './api/client.ts'
import { t } from './texts/texts.ts'

/** Where the user is, below the base path. */
export interface Place {
  path: string
  query: URLSearchParams
}

export interface Route {
  /** With parameters: `/emails/:id`. */
  pattern: string
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

/** Goes to a page of the dashboard; `href` is below the base path. */
export function navigate(href: string, { replace = false }: { replace?: boolean } = {}): void {
  keepScroll()
  history[replace ? 'replaceState' : 'pushState']({}, '', basePath + href)
  place.value = currentPlace()
  if (!replace) scrollTo(0, 0)
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
    // Lists that were seen before are there at once.
    requestAnimationFrame(() => requestAnimationFrame(() => scrollTo(0, scroll)))
  })
  document.addEventListener('click', (event) => {
    const link = (event.target as Element).closest('a')
    if (!link || event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const href = link.getAttribute('href') ?? ''
    if (link.target !== '' || link.hasAttribute('download') || !isPage(href)) return
    event.preventDefault()
    navigate(href.slice(basePath.length))
  })
}

/** Paths of the server that are no pages. */
const served = /^\/(?:docs|openapi\.json|api)(?:\/|$)/
const isPage = (href: string): boolean =>
  href.startsWith(`${basePath}/`) && !href.startsWith('//') && !served.test(href.slice(basePath.length))

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
  const [state, setState] = useState<'loading' | 'loaded' | 'failed'>('loading')
  const Page = loaded.get(route)
  useEffect(() => {
    if (Page) return
    route.load().then(
      (module) => {
        loaded.set(route, module.default)
        setState('loaded')
      },
      () => setState('failed'),
    )
  }, [route])
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
