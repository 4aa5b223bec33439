import { useState } from 'preact/hooks'
import type { Email } from '../api/types.ts'
import { t } from '../texts/texts.ts'
import { looksBlank } from '../looks-blank.ts'
import { Button } from './button.tsx'
import { Segments } from './controls.tsx'
import { MailPreview } from './mail-preview.tsx'
import { Scroll } from './page.tsx'

type Width = 'phone' | 'desktop'
type Colours = 'light' | 'dark'

/** How much space may stand anywhere: without a limit, a mail full of it would hold the page. */
const fromTheWeb = /(?:\b(?:src|srcset|background)\s{0,9}=\s{0,9}["']?|url\(\s{0,9}["']?)\s{0,9}(?:https?:)?\/\//i

/**
 * The HTML of an email as its reader sees it: in a frame without script, forms, links that lead anywhere, or network. Pictures from the
 * web are loaded only when somebody asks for them, because that tells their server.
 */
export function MailFrame({ email, sandbox, first }: { email: Email; sandbox: boolean; first: Width }) {
  const [width, setWidth] = useState<Width>(first)
  const [colours, setColours] = useState<Colours>('light')
  const [pictures, setPictures] = useState(false)
  const html = email.html ?? ''
  const hasPictures = fromTheWeb.test(html)
  const isBlank = looksBlank(html)
  return (
    <>
      <div class="tools">
        <Segments
          name={t.mail.width}
          options={Object.entries(t.mail.widths)}
          current={width}
          onChoice={(choice) => setWidth(choice as Width)}
        />
        <Segments
          name={t.mail.colours}
          options={Object.entries(t.mail.schemes)}
          current={colours}
          onChoice={(choice) => setColours(choice as Colours)}
        />
        {hasPictures && !pictures && (
          <span class="muted">
            {t.mail.notLoaded} <Button look="small plain" text={t.mail.load} onClick={() => setPictures(true)} />
          </span>
        )}
      </div>
      {isBlank && !(hasPictures && pictures) && <p role="status">{hasPictures ? t.mail.onlyPictures : t.mail.blank}</p>}
      <Scroll name={t.mail.frame}>
        <MailPreview emailId={email.id} sandbox={sandbox} width={width} colours={colours} pictures={pictures} name={t.mail.frame} />
      </Scroll>
    </>
  )
}
