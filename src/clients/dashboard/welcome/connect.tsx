import { useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import type { ServerAddress } from '../api/types.ts'
import { Code, CopyValue, Tabs } from '../parts/controls.tsx'
import { t } from '../texts/texts.ts'
import { snippets } from './snippets.ts'

const smtp = 'SMTP'

/** How a program hands mail over: a snippet for each language, and the settings for SMTP. */
export function Connect({ token, from, to }: { token: string | null; from: string; to: string }) {
  const [tab, setTab] = useState('curl')
  const { data: server } = useApi<ServerAddress>('/api/server')
  if (!server) return null
  const shownToken = token ?? 'YOUR_API_KEY'
  const write = snippets[tab]
  return (
    <div class="panel">
      <Tabs name={t.me.language} tabs={[...Object.keys(snippets), smtp].map((each) => [each, each])} current={tab} onTab={setTab} />
      <div class="body">
        {write ? (
          <Code text={write({ baseUrl: server.base_url, token: shownToken, from, to })} name={tab} />
        ) : (
          <SmtpSettings server={server} token={shownToken} />
        )}
        {token === null && <p class="muted">{t.welcome.putKey}</p>}
      </div>
    </div>
  )
}

const SmtpSettings = ({ server, token }: { server: ServerAddress; token: string }) => (
  <>
    <dl class="facts">
      <dt>{t.nav.server}</dt>
      <dd>
        <CopyValue value={server.hostname} name={t.nav.server} />
      </dd>
      <dt>{t.welcome.port}</dt>
      <dd>{server.smtp.map(({ port, tls }) => t.welcome.ports[tls]?.(port)).join(', ')}</dd>
      <dt>{t.welcome.userName}</dt>
      <dd>{t.common.anything}</dd>
      <dt>{t.login.password}</dt>
      <dd>
        <CopyValue value={token} name={t.login.password} />
      </dd>
    </dl>
    <p class="muted">{t.welcome.mapped}</p>
  </>
)
