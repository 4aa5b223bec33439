import { session, sessionEnded } from './api/client.ts'
import { Frame } from './frame.tsx'
import Login, { LoginAgain } from './pages/login.tsx'
import NotFound from './pages/not-found.tsx'
import { Page } from './parts/page.tsx'
import { findRoute, place, RoutePage } from './router.tsx'
import { mayOpen, routes } from './sections.ts'
import { t } from './texts/texts.ts'

export function App() {
  if (session.value === undefined) return null
  if (session.value === null) return <Login />
  const { path, query } = place.value
  const found = findRoute(routes, path === '/login' ? '/' : path)
  return (
    <>
      {/* Nothing of one user is left to the next. */}
      <Frame key={session.value.user.id}>
        {!found ? (
          <NotFound />
        ) : mayOpen(found.route) ? (
          <RoutePage key={found.route.pattern} route={found.route} params={found.params} query={query} />
        ) : (
          <Page key={found.route.pattern} heading={t.common.notAllowed(t.common[found.route.only ?? 'admins'])} />
        )}
      </Frame>
      {sessionEnded.value && <LoginAgain email={session.value.user.email} />}
    </>
  )
}
