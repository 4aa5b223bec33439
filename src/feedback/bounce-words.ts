import { patternOf, spacedWords } from '../bounce/phrase-pattern.ts'

/** UTF-16 units of a report that are looked through for phrases. */
const longestReport = 16 * 1024

const notDelivered = [
  '(undeliverable|undelivered|nondelivery|non delivery|undeliverd|unzustellbar|unzustellbare|non remis|non remise|onbestelbaar|niezdoreczone|unzustellbarkeit)',
  '(not|never|unable to|cannot|cant|couldnt|could not|wasnt|isnt|didnt|not been|failed to|failure to|fails to|not successfully|unable|unsuccessful|cannot be|not be|wasnt able to) (be |been |to be |get |successfully |)(delivered|deliver|delivering|delivery|reach|reached|send|sent|relayed|relay|processed|accepted|handed|transferred|forwarded|forward|routed|received)',
  '(delivery|deliver|delivering|mail|message|email|recipient|recipients|sending|address|addresses|transmission|e mail|mailing|submission) … (failed|failure|failures|error|errors|unsuccessful|rejected|bounced|refused|returned|fail|fails|fatal|aborted|impossible|undeliverable|blocked|discarded|denied)',
  '(failed|failure|error|problem|problems|rejected|errors) … (delivery|delivering|deliver|recipient|recipients|address|addresses|sending|message|mail|email)',
  '(permanent|fatal|permanently) (error|errors|failure|failed|fatal|problem)',
  '(following|these|this) (recipient|recipients|address|addresses|user|users) … (failed|error|errors|rejected|unknown|invalid|not|problem|undeliverable|undelivered|bounced|returned|unable)',
  '(returned|returning|sent back|giving up|given up|gave up|bounced|bouncing) (mail|message|email|to sender|on it|to you|your|the|back|on|because)',
  '(has|have|had|was|were|is|are|being|been|will be) (bounced|returned|rejected|undeliverable|undelivered|blocked|refused)',
  'did not reach',
  'user unknown','unknown user','no such user','mailbox (full|unavailable|not found|disabled|unknown|does not exist)','does not exist','remote host said','remote server (returned|said|replied|answered)','said 5','smtp error',
  '(nicht|konnte|konnten|kann) … (zugestellt|ausgeliefert|gesendet|ubermittelt|zustellen|versendet|erreicht|zugestellt werden)','zustellung … (fehlgeschlagen|gescheitert|nicht moglich|unmoglich|fehler)','fehler … (zustellung|versand)',
  '(pas|echec|impossible|erreur) … (remis|delivre|delivree|distribue|distribution|remise|envoye|transmis|livraison|livrer|delivrer|remettre|acheminer|acheminement|envoi|destinataire)',
  '(no|error|fallo|imposible|problema) … (entregado|entregar|entrega|enviado|enviar|entregarse|envio|entregada)',
  '(non|impossibile|errore|fallita|fallito|mancata) … (consegnato|consegnare|recapitato|recapitare|consegna|inviato|recapito|inviare|recapitata)',
  '(nao|erro|falha|impossivel) … (entregue|entregar|entrega|enviado|enviada|enviar|envio|encaminhada)',
  '(niet|kon|fout|mislukt) … (bezorgd|afgeleverd|verzonden|worden bezorgd|bezorgen|afleveren|aflevering)',
  '(не|ошибка|невозможно) … (доставлено|доставлена|доставить|доставке|доставки|отправлено|отправить|доставлены)',
  '(nie|blad) … (dostarczona|dostarczyc|dostarczone|doreczona|doreczyc|dostarczenia|wyslana|wyslac)',
  '退信','投递失败','发送失败','无法送达','未能送达','无法投递','退回','寄送失敗','無法傳遞','传递失败','無法送達',
  '配信できません','配信不能','届けることができません','届きません','送信できません','配送できません','配達できません','送信エラー','送信に失敗','配信に失敗','配信失敗','エラー … (メール|送信|配信)',
  '(전송|배달|발송|수신) … (실패|못했|않았|오류|없습니다)','반송',
]

const later = [
  '(will|shall|is going to|continue|continues|continuing|still) … (continue|retry|retried|try|trying|retrying|attempt|attempts|attempted|keep trying|be retried)',
  '(delivery|message|mail|email) … (delayed|deferred|is still in the queue|has been delayed|queued for|postponed)',
  '(delayed|delay|deferred|temporarily delayed|not yet been|not yet) … (delivered|delivery|message|mail)',
  'no action is required on your part','you do not need to (resend|do anything)','do not (need to |)resend','this is a warning message only','warning … (not|delayed|still|hours|4 hours)','transient … (failure|error)','is still undelivered',
  '(verzogert|verzogerung) ','wird weiterhin versucht','weiter versucht','(retardee|retarde|retard) ','en attente','nouvelle tentative','(retrasado|retraso|demorado) ','se seguira intentando','(ritardo|ritardata|ritardato) ','(atraso|atrasada|atrasado) ','(vertraagd|vertraging)','(задержана|задержка|отложено|отложена)','opozniona','opoznienie','延迟','延遲','遅延','再送','지연',
]

const givenUp = [
  'giving up','given up','gave up','will not be retried','no further (attempts|attempt|delivery)','not be (retried|attempted)','permanent','permanently','has been (returned|removed|deleted|bounced)','stopped trying','no longer (try|trying|be)','undeliverable','expired','(delivery|message|mail|email) (has |)(failed|failure)','last attempt','could not be delivered (after|for|within|in)','returned to sender','retry (timeout|time limit|limit|time) (exceeded|reached|expired)','wird zuruckgeschickt','endgultig','definitivement','definitiva','окончательно',
]

const arrived = [
  'successfully (delivered|relayed|sent)','(delivered|relayed|sent) successfully','successful (delivery|mail delivery)','delivery (was |is |to |)(successful|succeeded)','delivery notification success',
  '(was|were|has been|have been) delivered (to|successfully)','(erfolgreich|wurde) zugestellt','remis avec succes','entregado correctamente','entregue com sucesso','consegnato correttamente','успешно доставлено',
]

type Patterns = Record<'notDelivered' | 'later' | 'givenUp' | 'arrived', RegExp>
let compiled: Patterns | undefined

function patterns(): Patterns {
  const pattern = (phrases: string[]): RegExp => patternOf(phrases, {})
  compiled ??= { notDelivered: pattern(notDelivered), later: pattern(later), givenUp: pattern(givenUp), arrived: pattern(arrived) }
  return compiled
}

/** True where words say that mail has not arrived, or not yet. */
export function saysNotDelivered(text: string): boolean {
  const words = spacedWords(text, longestReport)
  return patterns().notDelivered.test(words) || patterns().later.test(words)
}

/** What words say of a message as a whole; `failed` unless they say something else. */
export function saidAction(text: string): 'failed' | 'delayed' | 'delivered' {
  const words = spacedWords(text, longestReport)
  const { notDelivered: failed, later: tried, givenUp: ended, arrived: done } = patterns()
  if (tried.test(words) && !ended.test(words)) return 'delayed'
  return done.test(words) && !failed.test(words) ? 'delivered' : 'failed'
}
