import { useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { Doctor, ServerAddress } from '../api/types.ts'
import { Answer } from '../parts/answer.tsx'
import { ActionButton } from '../parts/button.tsx'
import { Page } from '../parts/page.tsx'
import { ServerDomainRecords } from '../parts/server-domain.tsx'
import { State } from '../parts/state.tsx'
import { Ago } from '../parts/time.tsx'
import { inWords } from '../say.ts'
import { t } from '../texts/texts.ts'

const order = ['failed', 'warning', 'skipped', 'ok']

export default function Health() {
  const doctor = useApi<Doctor>('/api/doctor?max_age=600')
  const server = useApi<ServerAddress>('/api/server')
  const { data } = doctor
  const again = async (): Promise<void> => {
    await call('/api/doctor')
    await doctor.reload()
  }
  return (
    <Page
      narrow
      title={t.nav.health}
      heading={data ? (t.health.headings[data.status] ?? data.status) : t.health.checking}
      sub={
        data && (
          <span>
            {t.health.checked} <Ago of={data.checked_at} />. {server.data && t.health.version(server.data.version)}
          </span>
        )
      }
      actions={<ActionButton look="main" text={t.common.checkAgain} icon="redo" run={again} />}
    >
      <section class="panel" aria-label={t.nav.health}>
        <Answer of={doctor} rows={8}>
          {({ findings }) => (
            <ul>
              {findings
                .toSorted((one, other) => order.indexOf(one.status) - order.indexOf(other.status))
                .map((finding, place) => (
                  <FindingRow key={`${finding.check} ${place}`} finding={finding} />
                ))}
            </ul>
          )}
        </Answer>
      </section>
      <ServerDomainRecords />
    </Page>
  )
}

function FindingRow({ finding }: { finding: Doctor['findings'][number] }) {
  const { check, status } = finding
  const { what, advice } = inWords('findings', finding)
  return (
    <li class="rec">
      <div>
        <h2>{t.health.checks[check] ?? check}</h2>
        <State of={status} />
      </div>
      <div>
        <p>{what}</p>
        {advice !== null && <p class="muted">{advice}</p>}
      </div>
    </li>
  )
}
