<?php
require '/usr/share/php/libphp-phpmailer/autoload.php';

$mail = new PHPMailer\PHPMailer\PHPMailer(true);
$mail->isSMTP();
$mail->Host = getenv('HOST');
$mail->Port = (int) getenv('PORT');
$mail->SMTPSecure = 'tls';
$mail->SMTPOptions = ['ssl' => ['verify_peer' => false, 'verify_peer_name' => false]];
$mail->SMTPAuth = true;
$mail->Username = 'any';
$mail->Password = getenv('KEY');
$mail->CharSet = 'UTF-8';
$mail->setFrom(getenv('FROM'));
$mail->addAddress(getenv('TO'));
$mail->Subject = getenv('SUBJECT');
$mail->Body = file_get_contents(getenv('TEXT'));
$mail->addAttachment(getenv('ATTACHMENT'), getenv('FILENAME'));
$mail->send();
