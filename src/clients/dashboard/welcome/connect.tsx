import { useState } from 'preact/hooks'
import { useApi } from '../api/cache.ts'
import type { ServerAddress } from '../api/types.ts'
import { Code, Tabs, CopyFact } from '../parts/controls.tsx'
import { Facts, Fact } from '../parts/page.tsx'
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
      <Tabs name={t.me.language} options={[...Object.keys(snippets), smtp].map((each) => [each, each])} current={tab} onChoice={setTab} />
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
    <Facts>
      <CopyFact name={t.nav.server} value={server.hostname} />
      <Fact name={t.welcome.port}>{server.smtp.map(({ port, tls }) => t.welcome.ports[tls]?.(port)).join(', ')}</Fact>
      <Fact name={t.welcome.userName}>{t.common.anything}</Fact>
      <CopyFact name={t.login.password} value={token} />
    </Facts>
    <p class="muted">{t.welcome.mapped}</p>
  </>
)
