import { useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import type { List, Template, TemplateDiff, TemplateVersionItem } from '../api/types.ts'
import { mayChange } from '../rights.ts'
import { t } from '../texts/texts.ts'
import { Answer } from './answer.tsx'
import { ConfirmButton } from './dialog.tsx'
import { Panel, Unfold } from './page.tsx'
import { State } from './state.tsx'
import { Differences } from './template-diff.tsx'
import { Ago } from './time.tsx'

/** What was published when and by whom, what each version changed, and the way back to one. */
export function TemplateVersions({ template, onRestored }: { template: Template; onRestored(): Promise<unknown> }) {
  const path = `/api/templates/${template.id}`
  const versions = useApi<List<TemplateVersionItem>>(`${path}/versions`)
  const restore = async (number: number): Promise<void> => {
    await call(`${path}/versions/${number}/restore`, { method: 'POST' })
    await Promise.all([versions.reload(), onRestored()])
  }
  return (
    <Panel heading={t.template.versions} text={t.template.versionsHow}>
      <Answer of={versions} rows={2}>
        {({ data }) =>
          data.length === 0 ? (
            <p class="body muted">{t.template.noVersion}</p>
          ) : (
            <ul class="versions">
              {data.map((version, place) => (
                <li key={version.id}>
                  <Version version={version} path={path} before={data[place + 1]?.number ?? null} />
                  {mayChange() && !version.is_sent && (
                    <ConfirmButton
                      wide
                      look="small"
                      text={t.template.restore}
                      heading={t.template.restoreVersion(version.number)}
                      says={<Changes path={`${path}/diff?from=published&to=${version.number}&view=sent`} />}
                      run={() => restore(version.number)}
                    />
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  )
}

const Changes = ({ path }: { path: string }) => (
  <>
    <p>{t.template.changes}</p>
    <Compared path={path} />
  </>
)

const Version = ({ version, path, before }: { version: TemplateVersionItem; path: string; before: number | null }) => (
  <div>
    <p>
      <b>{t.template.version(version.number)}</b>{' '}
      <span class="muted">
        <Ago of={version.published_at} />
        {version.published_by && ` ${t.template.by(version.published_by.name)}`}
      </span>{' '}
      {version.is_sent && <State of="published" word={t.template.isSent} />}
    </p>
    {before !== null && (
      <Unfold word={t.template.whatChanged}>{() => <Compared path={`${path}/diff?from=${before}&to=${version.number}`} />}</Unfold>
    )}
  </div>
)

/** The differences that the API finds at this path. */
export const Compared = ({ path }: { path: string }) => (
  <Answer of={useApi<TemplateDiff>(path)} rows={2}>
    {(diff) => <Differences diff={diff} />}
  </Answer>
)
