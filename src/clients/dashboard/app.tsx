import { session, sessionEnded } from './api/client.ts'
import { Frame } from './frame.tsx'
import Login, { LoginAgain } from './pages/login.tsx'
import NotFound from './pages/not-found.tsx'
import { findRoute, place, RoutePage } from './router.tsx'
import { routes } from './sections.ts'

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
