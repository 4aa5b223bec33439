import { session, sessionEnded } from './api/client.ts'
import { Frame } from './frame.tsx'
import Login, { LoginAgain } from './pages/login.tsx'
import NotFound from './pages/not-found.tsx'
import { findRoute, place, RoutePage, type Route } from './router.tsx'

/** The pages by their paths; each is loaded when it is first opened. */
const routes: Route[] = [
  { pattern: '/', load: () => import('./pages/overview.tsx') },
  { pattern: '/welcome', load: () => import('./pages/welcome.tsx') },
  { pattern: '/emails', load: () => import('./pages/emails.tsx') },
  { pattern: '/emails/:id', load: () => import('./pages/email.tsx') },
  { pattern: '/analytics', load: () => import('./pages/analytics.tsx') },
  { pattern: '/domains', load: () => import('./pages/domains.tsx') },
  { pattern: '/domains/:name', load: () => import('./pages/domain.tsx') },
  { pattern: '/templates', load: () => import('./pages/templates.tsx') },
  { pattern: '/templates/:alias', load: () => import('./pages/template.tsx') },
  { pattern: '/suppressions', load: () => import('./pages/suppressions.tsx') },
  { pattern: '/reports', load: () => import('./pages/reports.tsx') },
  { pattern: '/reports/:domain', load: () => import('./pages/domain-reports.tsx') },
  { pattern: '/webhooks', load: () => import('./pages/webhooks.tsx') },
  { pattern: '/webhooks/:id', load: () => import('./pages/webhook.tsx') },
  { pattern: '/webhooks/:id/deliveries/:delivery', load: () => import('./pages/webhook-delivery.tsx') },
  { pattern: '/sandbox(?:/:id)?', stays: true, load: () => import('./pages/sandbox.tsx') },
  { pattern: '/queue', load: () => import('./pages/queue.tsx') },
  { pattern: '/queue/:domain', load: () => import('./pages/queue-destination.tsx') },
  { pattern: '/health', load: () => import('./pages/health.tsx') },
  { pattern: '/settings', load: () => import('./pages/settings.tsx') },
  { pattern: '/people', load: () => import('./pages/people.tsx') },
  { pattern: '/me', load: () => import('./pages/me.tsx') },
  { pattern: '/keys', load: () => import('./pages/keys.tsx') },
]

export function App() {
  if (session.value === undefined) return null
  if (session.value === null) return <Login />
  const { path, query } = place.value
  const found = findRoute(routes, path === '/login' ? '/' : path)
  return (
    <>
      {/* Nothing of one user is left to the next. */}
      <Frame key={session.value.user.id}>
        {found ? <RoutePage key={found.route.pattern} route={found.route} params={found.params} query={query} /> : <NotFound />}
      </Frame>
      {sessionEnded.value && <LoginAgain email={session.value.user.email} />}
    </>
  )
}
