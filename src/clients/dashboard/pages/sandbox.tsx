import { useEffect, useRef, useState } from 'preact/hooks'
import { invalidate, useApi } from '../api/cache.ts'
import { call } from '../api/client.ts'
import { liveState, useEmailChange } from '../api/live.ts'
import type { EmailItem, List } from '../api/types.ts'
import { Answer, Empty } from '../parts/answer.tsx'
import { AskButton } from '../parts/button.tsx'
import { CapturedEmail } from '../parts/captured-email.tsx'
import { CapturedList } from '../parts/captured-list.tsx'
import { ConfirmButton } from '../parts/dialog.tsx'
import { Switch } from '../parts/fields.tsx'
import { Live, Page } from '../parts/page.tsx'
import { Paging } from '../parts/paging.tsx'
import { mayChange } from '../rights.ts'
import { navigate, type PageProps } from '../router.tsx'
import { t } from '../texts/texts.ts'
import { SandboxConnect } from '../welcome/sandbox-connect.tsx'

/** As many as the API gives at once; they are searched on the page. */
const pageSize = 100
const followKey = 'sterna-sandbox-follow'
const seenKey = 'sterna-sandbox-seen'

/** What would have been sent: the list, and beside it one email; on a phone two pages. */
export default function Sandbox({ params, query }: PageProps) {
  const id = params['id'] ?? ''
  const after = query.get('after')
  const list = useApi<List<EmailItem>>(`/api/emails?limit=${pageSize}${after === null ? '' : `&after=${after}`}`, {
    sandbox: true,
    everyMs: after === null && liveState.value === 'polling' ? 15_000 : null,
  })
  useEmailChange(() => void list.reload(), { sandbox: true })
  const emails = list.data?.data ?? []
  const isNew = useNewness(emails, id)
  const follow = useFollowing(after === null ? emails[0]?.id : undefined)
  return (
    <Page
      title={t.nav.sandbox}
      heading={t.nav.sandbox}
      sub={
        <>
          <Live sandbox />
          <span>{t.sandbox.text}</span>
          <Switch name={null} label={t.sandbox.follow} value={follow.isOn} onValue={follow.turn} />
        </>
      }
      actions={
        <>
          <Connect />
          {mayChange() && emails.length > 0 && (
            <ConfirmButton
              text={t.sandbox.empty}
              icon="trash"
              heading={t.sandbox.emptyHeading}
              says={t.sandbox.emptyText}
              run={emptySandbox}
            />
          )}
        </>
      }
    >
      <Answer of={list} rows={8}>
        {({ data, has_more: hasMore }) =>
          data.length === 0 && id === '' ? (
            <section class="panel" aria-label={t.sandbox.list}>
              <Empty text={t.sandbox.none}>
                <Connect />
              </Empty>
            </section>
          ) : (
            <div class={`panel inbox ${id === '' ? 'lists' : 'reads'}`}>
              <CapturedList emails={data} current={id} isNew={isNew}>
                <Paging isFirst={after === null} last={hasMore ? (data.at(-1)?.id ?? null) : null} />
              </CapturedList>
              {id === '' ? <NothingChosen /> : <CapturedEmail key={id} id={id} />}
            </div>
          )
        }
      </Answer>
    </Page>
  )
}

const Connect = () =>
  mayChange() && <AskButton text={t.sandbox.connect} icon="key" dialog={(close) => <SandboxConnect onClose={close} />} />

const NothingChosen = () => (
  <div class="view">
    <Empty text={t.sandbox.choose} />
  </div>
)

/** Which emails came since this browser last showed the sandbox, and were not opened yet. Ids sort by time. */
function useNewness(emails: EmailItem[], opened: string): (id: string) => boolean {
  const newest = emails[0]?.id ?? ''
  const since = useRef(localStorage.getItem(seenKey))
  const read = useRef(new Set<string>())
  // In a browser that has never shown it, nothing is new.
  if (since.current === null && newest !== '') since.current = newest
  if (opened !== '') read.current.add(opened)
  useEffect(() => {
    if (newest > (localStorage.getItem(seenKey) ?? '')) localStorage.setItem(seenKey, newest)
  }, [newest])
  return (id) => since.current !== null && id > since.current && !read.current.has(id)
}

/** Opens each email as it comes, where somebody wants that. */
function useFollowing(newest: string | undefined): { isOn: boolean; turn(on: boolean): void } {
  const [isOn, setOn] = useState(localStorage.getItem(followKey) === 'on')
  const last = useRef(newest)
  useEffect(() => {
    const isLater = last.current !== undefined && newest !== undefined && newest > last.current
    last.current = newest ?? last.current
    if (isOn && isLater) navigate(`/sandbox/${newest}`)
  }, [newest, isOn])
  const turn = (on: boolean): void => {
    localStorage.setItem(followKey, on ? 'on' : 'off')
    setOn(on)
  }
  return { isOn, turn }
}

async function emptySandbox(): Promise<void> {
  await call('/api/emails', { method: 'DELETE', sandbox: true })
  invalidate('/api/emails')
  navigate('/sandbox')
}
