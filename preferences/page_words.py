"""What the pages for people say, in English and in Vietnamese."""

from __future__ import annotations

from collections.abc import Mapping

Words = Mapping[str, str]

_ENGLISH: Words = {
    "language": "en",
    "unsubscribe": "Stop these messages",
    "preferences": "What we send you",
    "broken_title": "This link does not work",
    "question": "Do you want no more “{category}” {by}?",
    "confirm": "Stop them",
    "done": "You will get no more “{category}” {by}.",
    "already": "You already get no “{category}” {by}.",
    "mandatory_category": "“{category}” belongs to your contract or the safety of"
    " your account and cannot be switched off here.",
    "centre": "All that we send you, and how",
    "intro": "Tick what you want to get. It holds from the next message on.",
    "all": "Nothing at all",
    "all_hint": "Ticked, you get nothing that way, not even codes to sign in with.",
    "mandatory": "We always send, because it belongs to your contract or the safety of"
    " your account:",
    "save": "Save",
    "saved": "Saved.",
    "stale": "Your settings were changed elsewhere meanwhile. Below is how they are"
    " now; please choose again.",
    "broken": "It was cut off on its way here, or it has expired. Open it once more"
    " from the message that it came with, or ask for a new one.",
    "by_email": "by e-mail",
    "by_sms": "by text message",
    "by_push": "as push notifications",
    "by_in_app": "in your inbox",
    "email": "E-mail",
    "sms": "Text message",
    "push": "Push notification",
    "in_app": "Inbox",
    "otp": "Codes to sign in and confirm",
    "transactional": "Orders and your account",
    "marketing": "Offers and news",
}
_VIETNAMESE: Words = {
    "language": "vi",
    "unsubscribe": "Ngừng nhận tin",
    "preferences": "Những gì chúng tôi gửi cho bạn",
    "broken_title": "Liên kết này không dùng được",
    "question": "Bạn muốn ngừng nhận “{category}” {by}?",
    "confirm": "Ngừng nhận",
    "done": "Bạn sẽ không nhận “{category}” {by} nữa.",
    "already": "Bạn đã ngừng nhận “{category}” {by}.",
    "mandatory_category": "“{category}” thuộc về hợp đồng hoặc sự an toàn của tài"
    " khoản nên không tắt được ở đây.",
    "centre": "Tất cả những gì chúng tôi gửi cho bạn",
    "intro": "Hãy đánh dấu những gì bạn muốn nhận. Thay đổi có hiệu lực từ tin sau.",
    "all": "Không nhận gì cả",
    "all_hint": "Nếu đánh dấu, bạn sẽ không nhận được gì qua kênh đó, kể cả mã đăng"
    " nhập.",
    "mandatory": "Chúng tôi luôn gửi, vì thuộc về hợp đồng hoặc sự an toàn của tài"
    " khoản:",
    "save": "Lưu",
    "saved": "Đã lưu.",
    "stale": "Cài đặt của bạn vừa được thay đổi ở nơi khác. Dưới đây là cài đặt hiện"
    " nay; hãy chọn lại.",
    "broken": "Liên kết bị cắt mất một phần hoặc đã hết hạn. Hãy mở lại từ tin nhắn,"
    " hoặc xin một liên kết mới.",
    "by_email": "qua e-mail",
    "by_sms": "qua tin nhắn SMS",
    "by_push": "qua thông báo đẩy",
    "by_in_app": "trong hộp thư",
    "email": "E-mail",
    "sms": "Tin nhắn SMS",
    "push": "Thông báo đẩy",
    "in_app": "Hộp thư",
    "otp": "Mã đăng nhập và xác nhận",
    "transactional": "Đơn hàng và tài khoản",
    "marketing": "Ưu đãi và tin tức",
}
# The ledger of consents names it: raise it whenever words above change their meaning.
EDITION = "1"
WORDS: Mapping[str, Words] = {"en": _ENGLISH, "vi": _VIETNAMESE}


def choose_language(*wishes: str) -> str:
    """Return the first of the wishes that there are words for, else English.

    A wish is a language tag or a whole Accept-Language header; its weights are taken to
    stand in order, as browsers write them.
    """
    for wish in wishes:
        for tag in wish.split(","):
            language = tag.split(";")[0].strip().split("-")[0].lower()
            if language in WORDS:
                return language
    return "en"


def category_label(words: Words, *, name: str, label: str) -> str:
    """Name a category: as the tenant labels it, else a built-in one in words."""
    return label or words.get(name) or name.replace("_", " ").capitalize()
